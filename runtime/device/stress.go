package device

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"mla/runtime/plan"
)

// Stressing is the parameters of Stress. Two rows with different tokens at the same position take turns, so
// results that were left in memory are never right by chance.
type Stressing struct {
	Rows     [2]plan.Row
	Replays  int                   // replays of the two rows in sum
	Progress func(done, total int) // may be nil
}

// Check fails if there is nothing to compare.
func (s *Stressing) Check() error {
	if s.Replays < 3 || s.Rows[0].Pos != s.Rows[1].Pos || s.Rows[0].Token == s.Rows[1].Token {
		return fmt.Errorf("%d replays of %+v; expected 3 or more, of two tokens at one position", s.Replays, s.Rows)
	}
	return nil
}

// Stressed is the result of Stress.
type Stressed struct {
	Parts     []Part
	Replays   int // replays that were compared
	Different int // replays that were not bit by bit the first one of their row
	First     *Difference
}

// Part is one result of a replay, in elements of 1 or 4 bytes.
type Part struct {
	Name        string
	Bytes, Elem int
}

// Difference is the first element that differs, in the first replay with a difference.
type Difference struct {
	Replay, Index int // from 0
	Part          string
	Got, Want     uint32 // as bits
}

func (d *Difference) String() string {
	return fmt.Sprintf("replay %d: element %d of the %s is %#x; expected %#x", d.Replay, d.Index, d.Part, d.Got, d.Want)
}

// Comparison compares the results of replays with those of the first two.
type Comparison struct {
	Stressed
	first [2][]byte
}

// NewComparison returns a Comparison of results that consist of consecutive parts.
func NewComparison(parts []Part) *Comparison { return &Comparison{Stressed: Stressed{Parts: parts}} }

// Add compares the result of the next replay, which it does not keep.
func (c *Comparison) Add(result []byte) {
	want := &c.first[c.Replays%2]
	switch {
	case *want == nil:
		*want = bytes.Clone(result)
	case !bytes.Equal(*want, result):
		if c.Different++; c.First == nil {
			c.First = c.difference(result, *want)
		}
	}
	c.Replays++
}

// difference returns the first element that differs; there must be one.
func (c *Comparison) difference(got, want []byte) *Difference {
	for _, p := range c.Parts {
		for i := 0; i < p.Bytes; i += p.Elem {
			if a, b := bits(got[i:i+p.Elem]), bits(want[i:i+p.Elem]); a != b {
				return &Difference{Replay: c.Replays, Index: i / p.Elem, Part: p.Name, Got: a, Want: b}
			}
		}
		got, want = got[p.Bytes:], want[p.Bytes:]
	}
	return nil
}

// bits reads an element of 1 or 4 bytes.
func bits(element []byte) uint32 {
	if len(element) == 1 {
		return uint32(element[0])
	}
	return binary.LittleEndian.Uint32(element)
}

// Stress replays a token many times and compares every replay bit by bit with the first one of its row.
// Results that depend on the order in which threads or dispatches happen to run show up as differences. If
// ctx is cancelled, it returns ctx's error and the comparison so far. The caches keep the cache row of the
// token.
func Stress(ctx context.Context, r Runner, s *Stressing) (*Stressed, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if own := r.Diagnostics().Stress; own != nil {
		return own(ctx, s)
	}
	c := NewComparison(nil)
	var result []byte
	for i := range s.Replays {
		if err := ctx.Err(); err != nil {
			return &c.Stressed, err
		}
		logits, err := r.Replay(s.Rows[i%2:i%2+1], All(1))
		if err != nil {
			return nil, fmt.Errorf("replay %d: %w", i, err)
		}
		result = result[:0]
		for _, v := range logits {
			result = binary.LittleEndian.AppendUint32(result, math.Float32bits(v))
		}
		c.Parts = []Part{{"logits", len(result), 4}}
		c.Add(result)
		if s.Progress != nil {
			s.Progress(c.Replays, s.Replays)
		}
	}
	return &c.Stressed, nil
}
