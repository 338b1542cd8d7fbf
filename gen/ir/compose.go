package ir

import "regexp"

// compositions matches the signatures that one kernel part can run: prologue, body, epilogue.
var compositions = regexp.MustCompile("^(" +
	"[NK]?M(R|Q|O|A?H?)" + // norm, mat-vec, then RoPE, squared ReLU, head gates, or residual and the next norm's input
	"|[NK]?MMG" + // norm, gate and up, SwiGLU
	"|CM[AO]?" + // combine the attention splits, mat-vec per head, head gates
	"|[NK]?(ptw)?E(EG)?" + // norm, gating, routed gate and up, SwiGLU
	"|EW(MA)?A?H?" + // routed down, weighted sum, shared down, residual, the next norm's input
	"|WA?A?H?" + // several rows: weighted sum, shared down, residual, the next norm's input
	"|eH" + // embedding and the next norm's input
	"|N?R?S" + // norm and rope of a new cache row
	"|ptwg" + // gating of a batch, and grouping its rows by expert
	"|M?M?cuncuncu[db]sDZ" + // linear attention: low-rank gates, convolutions, gates, delta rule, gated norm
	"|cuncuncu[db]sk?" + // linear attention of prompts: the same without the delta rule and the gated norm, row by row or in chunks
	"|ptw|[exalNRLCGApEWtgcundbsDkfZO]" + // single launches
	")$")

// Signature returns one letter for each op of the part, in order.
func (p *Part) Signature() string {
	s := make([]byte, len(p.Ops))
	for i, op := range p.Ops {
		s[i] = kinds[op.Kind].letter
	}
	return string(s)
}

// Composable reports whether one kernel part can run the ops of p in this order.
func Composable(p *Part) bool { return compositions.MatchString(p.Signature()) }
