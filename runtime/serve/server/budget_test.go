package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

// TestBudget checks that requests which each take a part of the memory and then more all end, and that all of
// them hold no more than the budget and the maximum of one request.
func TestBudget(t *testing.T) {
	const total, each = 1000, 600
	b := newBudget(total)
	var held, most atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			s := &share{of: b}
			for n := int64(0); n < each; n += 100 {
				if err := s.take(t.Context(), 100); err != nil {
					t.Error(err)
				}
				for now := held.Add(100); ; {
					if was := most.Load(); now <= was || most.CompareAndSwap(was, now) {
						break
					}
				}
			}
			held.Add(-each)
			s.free()
		})
	}
	all.Wait()
	if most.Load() > total+each || b.used != 0 || b.over != nil {
		t.Errorf("%d bytes were held; expected at most %d; %d are left", most.Load(), total+each, b.used)
	}
}

// TestBudgetEnds checks that a request which waits in vain gets an error and holds no memory afterwards.
func TestBudgetEnds(t *testing.T) {
	b := newBudget(10)
	first, second, third := &share{of: b}, &share{of: b}, &share{of: b}
	for _, s := range []*share{first, second} { // the second holds more than there is
		if err := s.take(t.Context(), 8); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, busyBytes())
	defer cancel()
	var said *apiError
	if err := third.take(ctx, 8); !errors.As(err, &said) || said.Status != 503 || said.retryAfter == 0 {
		t.Errorf("%v", err)
	}
	second.free()
	first.free()
	if err := third.take(t.Context(), 8); err != nil || b.used != 8 {
		t.Errorf("%v, %d bytes", err, b.used)
	}
}

// TestFill checks that a body's memory grows with the bytes that have arrived, not with the promised length.
func TestFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		data := bytes.Repeat([]byte("x"), rng.IntN(1<<20))
		promised := []int64{-1, int64(len(data)), 32 << 20}[rng.IntN(3)]
		b := &body{share: &share{of: newBudget(64 << 20)}, waited: func(time.Duration) {}}
		if err := b.fill(t.Context(), iotest.HalfReader(bytes.NewReader(data)), promised); err != nil || !bytes.Equal(b.data, data) {
			t.Fatalf("%d bytes, %d promised: %d, %v", len(data), promised, len(b.data), err)
		}
		if most := max(smallBody, 2*len(data)) + 1; cap(b.data) > most {
			t.Errorf("%d bytes take %d", len(data), cap(b.data))
		}
		b.free()
		if b.share.of.used != 0 {
			t.Error("something is left")
		}
	}
	b := &body{share: &share{of: newBudget(1)}, waited: func(time.Duration) {}}
	if err := b.fill(t.Context(), iotest.ErrReader(io.ErrUnexpectedEOF), 10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// TestElements checks how lists are cut into elements.
func TestElements(t *testing.T) {
	for text, want := range map[string][]string{
		`[]`: nil, `[ 1 , "a,]" ,[2,3],{"b":[4,"\"]"]}]`: {"1", `"a,]"`, "[2,3]", `{"b":[4,"\"]"]}`},
	} {
		list, err := elements([]byte(text), 10)
		if err != nil || len(list) != len(want) {
			t.Errorf("%s: %q, %v", text, list, err)
			continue
		}
		for i := range list {
			if string(list[i]) != want[i] {
				t.Errorf("%s: %q; expected %q", text, list, want)
			}
		}
	}
	if _, err := elements([]byte(`[1,2,3]`), 2); err == nil {
		t.Error("more than allowed")
	}
}

// TestLines checks that answers end at line ends, for any cut of the stream.
func TestLines(t *testing.T) {
	now := time.Time{}
	for _, c := range []struct {
		indent     int
		limit      time.Duration
		text, want string
		ended      bool
	}{
		{2, 0, "a\n  b\nc", "a\n  b\n", true},
		{2, 0, "a\n  b\n\n  c", "a\n  b\n\n  c", false},
		{2, 0, "no", "no", false},
		{3, 0, "x\n\t\t\ty\n \tz", "x\n\t\t\ty\n \t", true},
		{0, 5 * time.Second, "abc\ndefgh", "abc\ndef", true},
		{0, 100 * time.Second, "abc\ndefgh", "abc\ndefgh", false},
		{0, 2 * time.Second, "abcdefgh", "abcdefgh", false},
	} {
		l := &lines{indent: c.indent, limit: c.limit, now: func() time.Time { now = now.Add(time.Second); return now }}
		got, more := "", true
		now = time.Unix(0, 0)
		for i := 0; i < len(c.text) && more; i++ {
			var text string
			now = time.Unix(int64(i), 0).Add(-time.Second)
			text, more = l.push(c.text[i : i+1])
			got += text
		}
		if got != c.want || more == c.ended {
			t.Errorf("%q: %q, goes on %v; expected %q", c.text, got, more, c.want)
		}
	}
	if newLines(0, 0) != nil {
		t.Error("lines that end nothing")
	}
}
