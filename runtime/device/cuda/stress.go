package cuda

import (
	"context"
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

const (
	// stressBytes is how much of results is collected before it is copied to the host.
	stressBytes = 4 << 20
	// stressReplays is the most replays of one such copy.
	stressReplays = 64
)

// stress replays a token in batches. While the host compares one batch, the GPU runs the next. Replays leave
// their results in device memory, and a whole batch is copied to the host at once.
type stress struct {
	r         *runner
	what      *device.Stressing
	compare   *device.Comparison
	bytes     int64 // of one replay's results
	most      int   // most replays of a batch
	asked     int   // replays that are in the stream or done
	batches   [2]batch
	gathering [2]cu.Ptr
	rows      cu.Ptr // both rows; a copy within the device is fastest
}

// batch is some replays in flight.
type batch struct {
	replays int
	results *cu.Pinned
}

// stress implements device.Diagnostics.Stress.
func (r *runner) stress(ctx context.Context, what *device.Stressing) (*device.Stressed, error) {
	if r.closed {
		return nil, errClosed
	}
	if err := what.Check(); err != nil {
		return nil, err
	}
	for _, row := range what.Rows {
		if err := errors.Join(device.CheckRow(row, r.vocab, r.context), r.tables.Check(row)); err != nil {
			return nil, err
		}
	}
	r.forget()
	s := &stress{r: r, what: what}
	var parts []device.Part // in the order of the layers, so that the first difference is close to its cause
	for i := range r.memory.Caches {
		parts = append(parts, device.Part{Name: fmt.Sprintf("cache row of layer %d", i), Bytes: r.planes.RowBytes(), Elem: 1})
	}
	parts = append(parts, device.Part{Name: "logits", Bytes: 4 * r.vocab, Elem: 4})
	for _, p := range parts {
		s.bytes += int64(p.Bytes)
	}
	s.most = int(max(1, min(stressBytes/s.bytes, stressReplays)))
	s.compare = device.NewComparison(parts)
	err := r.gpu.Do(func() error { return s.run(ctx) })
	return &s.compare.Stressed, err
}

// run compares one batch while the next is in flight.
func (s *stress) run(ctx context.Context) (err error) {
	if err := s.r.units.Drain(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.r.stream.Wait(), s.free()) }()
	if err := s.allocate(); err != nil {
		return err
	}
	for i, row := range s.what.Rows {
		s.r.keepRows(i, []plan.Row{row}, nil, 1)
	}
	if err := s.r.stream.Upload(s.rows, s.r.rows, 0, 2*s.r.slotBytes()); err != nil {
		return err
	}
	for i := 0; s.compare.Replays < s.what.Replays; i = 1 - i {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.launch(i); err != nil {
			return err
		}
		if err := s.waitFor(1 - i); err != nil {
			return err
		}
	}
	return nil
}

func (s *stress) allocate() (err error) {
	if s.rows, err = cu.Alloc(2 * int64(s.r.slotBytes())); err != nil {
		return err
	}
	for i := range s.batches {
		if s.gathering[i], err = cu.Alloc(s.bytes * int64(s.most)); err != nil {
			return err
		}
		if s.batches[i].results, err = cu.AllocPinned(int(s.bytes) * s.most); err != nil {
			return err
		}
	}
	return nil
}

func (s *stress) free() error {
	return errors.Join(free(s.gathering[:]), s.rows.Free(), s.batches[0].results.Free(), s.batches[1].results.Free())
}

// launch appends the replays of a batch to the stream, if any are left.
func (s *stress) launch(i int) error {
	b := &s.batches[i]
	b.replays = min(s.most, s.what.Replays-s.asked)
	if b.replays == 0 {
		return nil
	}
	for j := range b.replays {
		if err := s.replay(s.gathering[i] + cu.Ptr(s.bytes*int64(j))); err != nil {
			return err
		}
		s.asked++
	}
	if err := s.r.stream.Download(b.results, 0, s.gathering[i], int(s.bytes)*b.replays); err != nil {
		return err
	}
	return s.r.slots[i].end.Record(s.r.stream)
}

// replay appends one replay and the copies of its results to the stream.
func (s *stress) replay(to cu.Ptr) error {
	r := s.r
	if err := r.stream.Copy(r.memory.Spaces[plan.SpaceRow], s.rows+cu.Ptr(s.asked%2*r.slotBytes()+r.wantedBytes()), rowBytes); err != nil {
		return err
	}
	if err := r.graphs.sequences[0].all.Launch(r.stream); err != nil {
		return err
	}
	place := r.tables.Place(s.what.Rows[0])
	page := cu.Ptr(place / plan.PageRows * r.pageOfLayer())
	for _, cache := range r.memory.Caches {
		for at, bytes := range r.planes.Rows(int(place%plan.PageRows), 1) {
			if err := r.stream.Copy(to, cache+page+cu.Ptr(at), int64(bytes)); err != nil {
				return err
			}
			to += cu.Ptr(bytes)
		}
	}
	return r.stream.Copy(to, r.memory.Spaces[plan.SpaceLogits], 4*int64(r.vocab))
}

// waitFor waits for a batch and compares its results.
func (s *stress) waitFor(i int) error {
	b := &s.batches[i]
	if b.replays == 0 {
		return nil
	}
	if err := s.r.slots[i].end.Wait(); err != nil {
		return err
	}
	for j := range b.replays {
		s.compare.Add(b.results.Bytes()[int64(j)*s.bytes:][:s.bytes])
	}
	b.replays = 0
	if s.what.Progress != nil {
		s.what.Progress(s.compare.Replays, s.what.Replays)
	}
	return nil
}
