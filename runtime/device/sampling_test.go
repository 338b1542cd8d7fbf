package device

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"mla/runtime/plan"
)

// TestWriteSampling looks for what Write is given, where the layout has it, and
// for nothing of what was there before.
func TestWriteSampling(t *testing.T) {
	const vocab = 10
	l := plan.SampleLayoutOf(vocab, 1)
	dst := make([]byte, l.Bytes)
	for i := range dst {
		dst[i] = 0xff
	}
	s := Sampling{Sampling: plan.Sampling{Seed: 5, TopK: 7, LogMinP: -2, Window: 4, Picked: 9}, Recent: []int32{3, 9, 3, 12},
		Biases: []Bias{{2, 1.5}, {10, 4}, {-1, 4}}}
	if err := s.Write(dst, vocab); err != nil {
		t.Fatal(err)
	}
	want := plan.Sampling{Seed: 5, TopK: 7, LogMinP: -2, Window: 4, Accepted: 4}
	var state plan.Sampling
	if _, err := binary.Decode(dst[l.State:], binary.LittleEndian, &state); err != nil || state != want {
		t.Errorf("state %+v, %v; expected %+v", state, err, want)
	}
	for i := range vocab {
		times, add := uint32(0), float32(0)
		switch i {
		case 2:
			add = 1.5
		case 3:
			times = 2
		case 9:
			times = 1
		}
		if got := word(dst, l.Counts, i); got != times {
			t.Errorf("token %d is counted %d times; expected %d", i, got, times)
		}
		if got := math.Float32frombits(word(dst, l.Bias, i)); got != add {
			t.Errorf("token %d has a bias of %v; expected %v", i, got, add)
		}
	}
	for i, id := range s.Recent {
		if got := word(dst, l.Recent, i); got != uint32(id) {
			t.Errorf("place %d of the ring has %d; expected %d", i, got, id)
		}
	}
}

// word is number i of an array.
func word(b []byte, at int64, i int) uint32 { return binary.LittleEndian.Uint32(b[at+4*int64(i):]) }

// TestWriteSamplingAll has a window without end: its tokens are only counted.
func TestWriteSamplingAll(t *testing.T) {
	l := plan.SampleLayoutOf(4, 1)
	dst := make([]byte, l.Bytes)
	s := Sampling{Sampling: plan.Sampling{Window: plan.SampleWindowAll}, Recent: make([]int32, 2*plan.SampleWindow)}
	if err := s.Write(dst, 4); err != nil {
		t.Fatal(err)
	}
	if n := word(dst, l.Counts, 0); n != 2*plan.SampleWindow {
		t.Errorf("token 0 is counted %d times", n)
	}
}

func TestWriteSamplingRefuses(t *testing.T) {
	dst := make([]byte, plan.SampleLayoutOf(4, 1).Bytes)
	if err := (&Sampling{}).Write(dst[:100], 4); !errors.Is(err, ErrSampling) {
		t.Errorf("100 bytes: %v", err)
	}
	for _, s := range []Sampling{
		{Sampling: plan.Sampling{Window: plan.SampleWindow + 1}},
		{Sampling: plan.Sampling{Window: 2}, Recent: []int32{1, 2, 3}},
	} {
		if err := s.Write(dst, 4); !errors.Is(err, ErrSampling) {
			t.Errorf("window of %d with %d tokens: %v", s.Window, len(s.Recent), err)
		}
	}
}
