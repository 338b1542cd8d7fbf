package fleet_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"mla/runtime/serve/fleet"
)

// workshop counts the running workers and the memory that they take.
type workshop struct {
	mu           sync.Mutex
	starts       int
	bytes, most  int64
	fail, delays bool
}

func (s *workshop) run(ctx context.Context, m fleet.Model, ready func(string)) error {
	s.mu.Lock()
	s.starts++
	s.bytes += m.Bytes
	s.most = max(s.most, s.bytes)
	fail := s.fail
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.bytes -= m.Bytes
		s.mu.Unlock()
	}()
	if fail {
		return errors.New("no kernels")
	}
	if s.delays {
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	}
	ready("http://" + m.Name)
	<-ctx.Done()
	return nil
}

var three = []fleet.Model{{Name: "a", Bytes: 40}, {Name: "b", Bytes: 50}, {Name: "c", Bytes: 60}}

func acquire(t *testing.T, f *fleet.Fleet, name string) func() {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	address, release, err := f.Acquire(ctx, name)
	if err != nil || address != "http://"+name {
		t.Fatalf("%s: %q, %v", name, address, err)
	}
	return release
}

// TestRoom checks that models share the memory, and that the least recently used model is unloaded first.
func TestRoom(t *testing.T) {
	s := &workshop{}
	f := fleet.New(fleet.Config{Models: three, Memory: 100, Run: s.run})
	defer f.Close()
	acquire(t, f, "a")()
	releaseB := acquire(t, f, "b")
	acquire(t, f, "a")()
	releaseB() // the last one used
	// a goes first, which does not do, as 50 and 60 are more than 100, so b does too.
	releaseC := acquire(t, f, "c")
	if got := f.Loaded(); len(got) != 1 || s.starts != 3 {
		t.Errorf("%v after %d starts", got, s.starts)
	}
	acquire(t, f, "a")() // fits beside c, and makes room again
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := f.Acquire(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) { // c is in use
		t.Errorf("%v", err)
	}
	releaseC()
	acquire(t, f, "b")()
	if got := f.Loaded(); got["b"] == "" || got["c"] != "" {
		t.Errorf("%v", got)
	}
	if s.most > 100 {
		t.Errorf("%d bytes at a time", s.most)
	}
	var unknown *fleet.UnknownError
	if _, _, err := f.Acquire(context.Background(), "x"); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

// TestKeep checks that a user can say how long a model stays loaded, and that a model which stays for ever is
// still unloaded for another one.
func TestKeep(t *testing.T) {
	s := &workshop{}
	f := fleet.New(fleet.Config{Models: three, Memory: 100, Idle: time.Hour, Run: s.run})
	defer f.Close()
	use := func(name string, keep time.Duration) {
		release := acquire(t, f, name)
		f.Keep(name, keep)
		release()
	}
	gone := func(name string) {
		t.Helper()
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, loaded := f.Loaded()[name]; !loaded {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s stays", name)
			}
		}
	}
	use("a", 0)
	gone("a")
	use("a", time.Millisecond)
	gone("a")
	use("a", time.Millisecond)
	use("a", -1)
	time.Sleep(20 * time.Millisecond)
	if _, loaded := f.Loaded()["a"]; !loaded {
		t.Error("a model that was to stay is gone")
	}
	use("c", time.Hour)
	use("b", time.Hour)
	gone("a")
	f.Keep("nobody", 0)
}

func TestIdle(t *testing.T) {
	s := &workshop{}
	f := fleet.New(fleet.Config{Models: three, Idle: 20 * time.Millisecond, Run: s.run})
	defer f.Close()
	release := acquire(t, f, "a")
	time.Sleep(40 * time.Millisecond)
	if len(f.Loaded()) != 1 {
		t.Error("a model that is in use was unloaded")
	}
	release()
	for end := time.Now().Add(5 * time.Second); len(f.Loaded()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("an idle model stays")
		}
	}
	acquire(t, f, "a")()
	if s.starts != 2 {
		t.Errorf("%d starts", s.starts)
	}
}

func TestDoesNotStart(t *testing.T) {
	s := &workshop{fail: true}
	f := fleet.New(fleet.Config{Models: three, Memory: 10, Run: s.run})
	defer f.Close()
	if _, _, err := f.Acquire(context.Background(), "a"); err == nil || err.Error() != "the model a could not be loaded: no kernels" {
		t.Errorf("%v", err)
	}
	s.mu.Lock()
	s.fail = false
	s.mu.Unlock()
	acquire(t, f, "a")() // again, though it is above the limit
}

// TestMany checks that simultaneous requests for all models are all answered, within the limit of memory.
func TestMany(t *testing.T) {
	s := &workshop{delays: true}
	f := fleet.New(fleet.Config{Models: three, Memory: 100, Idle: time.Millisecond, Run: s.run})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			for range 50 {
				release := acquire(t, f, three[rng.IntN(3)].Name)
				time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond)
				release()
			}
		})
	}
	all.Wait()
	f.Close()
	if s.most > 100 || s.bytes != 0 {
		t.Errorf("%d bytes at a time, %d at the end", s.most, s.bytes)
	}
}
