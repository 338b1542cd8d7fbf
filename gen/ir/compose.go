package ir

import "regexp"

// compositions lists what one kernel part can do: prologue, body, epilogue.
var compositions = regexp.MustCompile("^(" +
	"[NK]?M(R|Q|O|A?H?)" + // norm, mat-vec, then rope, squared ReLU, gates of heads, or residual and the next norm's input
	"|[NK]?MMG" + // norm, gate and up, SwiGLU
	"|CM[AO]?" + // combine the attention splits, mat-vec per head, gates of heads
	"|[NK]?(ptw)?E(EG)?" + // norm, gating, routed gate and up, SwiGLU
	"|EW(MA)?A?H?" + // routed down, weighted sum, shared down, residual, the next norm's input
	"|WA?A?H?" + // of several rows: weighted sum, shared down, residual, the next norm's input
	"|eH" + // embedding and the next norm's input
	"|N?R?S" + // norm and rope of a new cache row
	"|ptwg" + // gating of a batch, and what its rows have selected by expert
	"|M?M?cuncuncu[db]sDZ" + // linear attention of a head: low-rank gates, convolutions, gates, delta rule, gated norm
	"|cuncuncu[db]sk?" + // of prompts: the same without the delta rule and the norm after it, by rows or by chunks
	"|ptw|[exalNRLCGApEWtgcundbsDkfZO]" + // single launches
	")$")

// Signature spells the part's ops, one letter each.
func (p *Part) Signature() string {
	s := make([]byte, len(p.Ops))
	for i, op := range p.Ops {
		s[i] = kinds[op.Kind].letter
	}
	return string(s)
}

// Composable says whether one kernel part can run the ops in this order.
func Composable(p *Part) bool { return compositions.MatchString(p.Signature()) }
