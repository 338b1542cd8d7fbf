package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine/opening"
	"mla/runtime/plan"
)

// ending is a device on which the system ends the commands of some replays, by number.
type ending struct {
	device.Device
	ends  func(replay int) bool
	count int
	open  int // runners
}

func (d *ending) Load(m *device.Model, cfg device.Config) (device.Runner, error) {
	r, err := d.Device.Load(m, cfg)
	d.open++
	return &endingRunner{r, d}, err
}

type endingRunner struct {
	device.Runner
	device *ending
}

func (r *endingRunner) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	if r.device.count++; r.device.ends(r.device.count) {
		return nil, fmt.Errorf("replay %d was ended: %w", r.device.count, device.ErrReopen)
	}
	return r.Runner.Replay(rows, wanted)
}

func (r *endingRunner) Close() error {
	r.device.open--
	return r.Runner.Close()
}

// TestReopen checks that all texts continue unchanged after the system has ended commands of any replay once.
// After the second time the texts end with the error.
func TestReopen(t *testing.T) {
	prompts := [][]int32{{1, 2, 3}, {8, 7, 6, 5, 4, 3, 2, 1}, {9}}
	open := func(ends func(int) bool) (*ending, func() [][]int32) {
		d := &ending{Device: cpu.New(), ends: ends}
		e, err := opening.On(filepath.Join(references, "youtu-tiny-F32.gguf"), generated.Bundles(), "", d)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		return d, func() [][]int32 { return texts(t, loaded(t, e, 3), 0.4, false, prompts...) }
	}
	never, all := open(func(int) bool { return false })
	want := all()
	for n := 1; n <= never.count; n += 3 {
		d, all := open(func(replay int) bool { return replay == n })
		if got := all(); !slices.EqualFunc(got, want, slices.Equal) || d.count <= never.count || d.open != 1 {
			t.Errorf("replay %d is ended: %v after %d replays, %d runners; expected %v", n, got, d.count, d.open, want)
		}
	}
	d := &ending{Device: cpu.New(), ends: func(replay int) bool { return replay == 2 || replay >= 5 }}
	e, err := opening.On(filepath.Join(references, "youtu-tiny-F32.gguf"), generated.Bundles(), "", d)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := loaded(t, e, 1).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(context.Background(), prompts[0], nil); err != nil {
		t.Fatal(err)
	}
	for err == nil && d.count < 9 {
		err = s.Append(4)
	}
	if err == nil || !strings.Contains(err.Error(), "replay 5 was ended") {
		t.Errorf("%v; expected the second end", err)
	}
}
