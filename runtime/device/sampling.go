package device

import (
	"errors"
	"math"

	"mla/runtime/plan"
)

// ErrSampling says that a device cannot pick tokens as asked: the bundle has no
// kernels for it, or a parameter is beyond them. The host has to pick.
var ErrSampling = errors.New("the device cannot pick these tokens")

// WindowAll is Sampling.Window when every accepted token is recent.
const WindowAll = math.MaxUint32

// Sampling is everything that a choice of tokens depends on beside the logits.
type Sampling struct {
	plan.Sampling         // Picked is 0
	Window        uint32  // how many accepted tokens are recent; 0: none, as nothing is penalised
	Recent        []int32 // the recent tokens, oldest first; with WindowAll in any order
	Biases        []Bias
	Mask          []uint32 // which tokens may be picked, a bit each; nil: all. It holds for one token
}

// Bias is added to the logit of a token.
type Bias struct {
	Token int32
	Add   float32
}

// Repeats says whether the next choices depend on nothing but the logits and the number of
// the draw, so that a device can go on by itself: no mask holds, and nothing is penalised.
func (s *Sampling) Repeats() bool { return s.Mask == nil && s.Window == 0 }
