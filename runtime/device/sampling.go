package device

import (
	"errors"
	"math"

	"mla/runtime/plan"
)

// ErrSampling says that a device cannot pick tokens as asked, because the bundle has no kernels for it or a
// parameter is out of their range. The host has to pick.
var ErrSampling = errors.New("the device cannot pick these tokens")

// WindowAll is Sampling.Window when every accepted token counts as recent.
const WindowAll = math.MaxUint32

// Sampling is everything beside the logits that a choice of tokens depends on.
type Sampling struct {
	plan.Sampling         // Picked is 0
	Window        uint32  // how many accepted tokens count as recent; 0: none, as no token is penalised
	Recent        []int32 // the recent tokens, oldest first; with WindowAll in any order
	Biases        []Bias
	Mask          []uint32 // the tokens that may be picked, one bit each; nil: all. It is valid for one token
}

// Bias is added to the logit of a token.
type Bias struct {
	Token int32
	Add   float32
}

// Repeats says whether the next choices depend only on the logits and the number of the draw: there is no
// mask and no penalty. Then a device can continue without the host.
func (s *Sampling) Repeats() bool { return s.Mask == nil && s.Window == 0 }
