package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"mla/runtime/plan"
)

// ErrSampling says that a device cannot pick tokens as asked: the bundle has no
// kernels for it, or a parameter is beyond them. The host has to pick.
var ErrSampling = errors.New("the device cannot pick these tokens")

// MaxAhead is how many tokens of a chain may wait to be fetched by Next.
const MaxAhead = plan.SamplePicks

// Sampler is a Runner that can pick tokens itself and run what it picked, so that
// the host need not take part in every token.
//
// A chain begins behind the last Replay, of which the logits of one row were wanted. Its first token is picked from that
// Replay's logits; every further one from the logits of its predecessor, which is
// run one position on. The last token of a chain is picked but not run.
//
//	Replay(…, [0])  Begin  Ahead(4)  Ahead(4)  Next  Next  Next  Next  Ahead(4)  …  End
type Sampler interface {
	Runner
	// Begin starts a chain. It fails with ErrSampling if the device cannot pick
	// so, and with another error if the last Replay computed no logits.
	Begin(s *Sampling) error
	// Ahead hands the device n more tokens as one unit of work, and waits for
	// nothing but room. It fails if MaxAhead or the context would be exceeded: the
	// chain's t-th token (from 1) is run when its successor is asked for, at
	// position t after that of the last Replay.
	Ahead(n int) error
	// Next waits for the oldest token that it has not returned yet: -1 if none
	// could be picked. After -1 or an error only End, Replay and Close make sense.
	Next() (int32, error)
	// End waits for what is in flight and forgets its tokens. Cache rows of tokens
	// that were run stay, to be overwritten. Replay ends a chain as well.
	End() error
}

// Sampling is everything that a choice of tokens depends on beside the logits.
type Sampling struct {
	plan.Sampling         // Picked and Accepted are set by Write
	Recent        []int32 // the recent tokens, oldest first; with SampleWindowAll in any order
	Biases        []Bias
	Mask          []uint32 // which tokens may be picked, a bit each; nil: all. It holds for one token
}

// Bias is added to the logit of a token.
type Bias struct {
	Token int32
	Add   float32
}

// Write fills the memory of SpaceSample, dst, for the beginning of a chain: all
// arrays before SampleLayout.Values. It fails with ErrSampling if a parameter is
// beyond the kernels.
func (s *Sampling) Write(dst []byte, vocab int) error {
	if s.Mask != nil {
		return fmt.Errorf("%w: a mask holds for one token, and a chain has several", ErrSampling)
	}
	limited := s.Window != plan.SampleWindowAll
	if limited && (s.Window > plan.SampleWindow || len(s.Recent) > int(s.Window)) {
		return fmt.Errorf("%w: %d of %d recent tokens; at most %d", ErrSampling, len(s.Recent), s.Window, plan.SampleWindow)
	}
	l := plan.SampleLayoutOf(vocab, 1)
	if int64(len(dst)) < l.Values {
		return fmt.Errorf("%w: %d bytes of memory; expected %d or more", ErrSampling, len(dst), l.Values)
	}
	clear(dst[l.State:l.Values])
	state := s.Sampling
	state.Picked, state.Accepted = 0, 0
	if limited {
		state.Accepted = uint32(len(s.Recent))
	}
	if _, err := binary.Encode(dst[l.State:], binary.LittleEndian, &state); err != nil {
		return err
	}
	counts := dst[l.Counts:]
	for i, id := range s.Recent {
		if limited {
			binary.LittleEndian.PutUint32(dst[l.Recent+4*int64(i):], uint32(id))
		}
		if id >= 0 && int(id) < vocab {
			binary.LittleEndian.PutUint32(counts[4*id:], binary.LittleEndian.Uint32(counts[4*id:])+1)
		}
	}
	for _, b := range s.Biases {
		if b.Token >= 0 && int(b.Token) < vocab {
			binary.LittleEndian.PutUint32(dst[l.Bias+4*int64(b.Token):], math.Float32bits(b.Add))
		}
	}
	return nil
}
