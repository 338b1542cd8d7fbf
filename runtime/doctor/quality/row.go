package quality

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A row of saved logits is, little-endian,
//
//	float64  ln p of the token that followed
//	uint32   the most likely token
//	float32  lo
//	float32  step
//	uint16   q for each token: its ln p is lo + q·step
//
// A token less likely than the most likely one by more than spread nats counts as that
// far away: what all such tokens add to a divergence is below 1e-8. A step is then at most
// 5e-4 nats. Readers make probabilities add up to 1 again; then rounding moves a
// divergence by its square over 24, 1e-8, and, either way, by 2.5e-4 of the distance in
// ln p of each token at most.
const (
	rowFixed = 20
	spread   = 32
	steps    = math.MaxUint16
)

// rowBytes returns the size of a row.
func rowBytes(vocab int) int { return rowFixed + 2*vocab }

// logProbs converts logits into ln p, in dst. It fails if the logits do not define a distribution: NaN, +Inf,
// or nothing but -Inf.
func logProbs(dst []float64, logits []float32) error {
	sum := LogSum(logits)
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("the logits are no probabilities: ln Σ eˣ is %g", sum)
	}
	for i, x := range logits {
		dst[i] = float64(x) - sum
	}
	return nil
}

// encodeRow writes a row into dst, whose length is the row's size.
func encodeRow(dst []byte, lp []float64, best int, next int32) {
	top := lp[best]
	lo := top
	for _, v := range lp {
		lo = min(lo, v)
	}
	lo = float64(float32(max(lo, top-spread)))
	step := float64(float32(max(top-lo, 0) / steps))
	binary.LittleEndian.PutUint64(dst, math.Float64bits(lp[next]))
	binary.LittleEndian.PutUint32(dst[8:], uint32(best))
	binary.LittleEndian.PutUint32(dst[12:], math.Float32bits(float32(lo)))
	binary.LittleEndian.PutUint32(dst[16:], math.Float32bits(float32(step)))
	for i, v := range lp {
		q := 0.0
		if step > 0 {
			q = min(max(math.Round((v-lo)/step), 0), steps)
		}
		binary.LittleEndian.PutUint16(dst[rowFixed+2*i:], uint16(q))
	}
}

// savedRow is a decoded row.
type savedRow struct {
	next float64 // ln p of the token that followed
	best int
	lp   []float64 // ln p of all tokens; the probabilities are normalised to sum to 1
}

// decode reads a row. It fails if encodeRow cannot have written it.
func (r *savedRow) decode(src []byte) error {
	single := func(at int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(src[at:]))) }
	best := binary.LittleEndian.Uint32(src[8:])
	lo, step := single(12), single(16)
	r.next = math.Float64frombits(binary.LittleEndian.Uint64(src))
	if uint64(best) >= uint64(len(r.lp)) || !(r.next <= 0) || !(lo > -1e3 && lo <= 0) || !(step >= 0 && step < 1) {
		return fmt.Errorf("it is none: best token %d, ln p %g, lo %g, step %g", best, r.next, lo, step)
	}
	r.best = int(best)
	sum := 0.0
	for i := range r.lp {
		r.lp[i] = lo + step*float64(binary.LittleEndian.Uint16(src[rowFixed+2*i:]))
		sum += math.Exp(r.lp[i])
	}
	if !(math.Abs(sum-1) < 1e-3) { // rounding to a step changes each probability by at most 2.5e-4 of itself
		return fmt.Errorf("its probabilities add up to %g", sum)
	}
	norm := math.Log(sum)
	for i := range r.lp {
		r.lp[i] -= norm
	}
	return nil
}
