package cpu

import (
	"math"

	"mla/runtime/device/linalg"
	"mla/runtime/plan"
)

// gating selects the experts of a row; see plan.Gating. Every worker that needs the selection computes it,
// with the same bits.
type gating struct {
	plan.Gating
	id     int
	logits []float32
	bias   []float32 // nil: none
}

// gating binds the selection of p.K of p.Experts experts.
func (b *binder) gating(p *plan.Gating) *gating {
	g := &gating{Gating: *p, id: b.id(), logits: b.floats(p.Logits, p.Experts)}
	if p.Bias >= 0 {
		g.bias = b.weights(p.Bias, p.Experts)
	}
	if b.err == nil {
		b.r.need.experts = max(b.r.need.experts, p.Experts)
		b.r.need.chosen = max(b.r.need.chosen, p.K)
	}
	return g
}

// choose returns the experts of the row by falling selection score. The slice belongs to the worker.
func (g *gating) choose(w *worker) []plan.Routing {
	routing := w.routing[:g.K]
	k := key{token: w.token, id: g.id}
	if w.routeKey == k {
		return routing
	}
	probs, selection, taken := w.probs[:g.Experts], w.selection[:g.Experts], w.taken[:g.Experts]
	g.probabilities(probs)
	if g.ByLogits() {
		copy(selection, g.logits)
	} else {
		copy(selection, probs)
	}
	if g.bias != nil {
		addTo(selection, g.bias)
	}
	if g.Groups > 1 {
		g.limitGroups(selection, taken[:g.Groups])
	}
	clear(taken)
	for i := range routing {
		e := argmax(selection, taken)
		taken[e] = true
		routing[i] = plan.Routing{Expert: uint32(e), Weight: probs[e]}
	}
	g.weigh(routing)
	w.routeKey = k
	return routing
}

// probabilities is the softmax or the sigmoid of the logits.
func (g *gating) probabilities(probs []float32) {
	if g.Sigmoid {
		for i, x := range g.logits {
			probs[i] = sigmoid(x)
		}
		return
	}
	m := g.logits[0]
	for _, x := range g.logits {
		m = max(m, x)
	}
	var sum float32
	for i, x := range g.logits {
		probs[i] = linalg.Exp(x - m)
		sum += probs[i]
	}
	for i := range probs {
		probs[i] /= sum
	}
}

// limitGroups drops all experts from the selection but those of the best groups: the groups with the highest
// sums of their two best scores.
func (g *gating) limitGroups(selection []float32, keep []bool) {
	size := g.Experts / g.Groups
	clear(keep)
	for range g.KGroups {
		best, bestScore := -1, float32(0)
		for i := range keep {
			if keep[i] {
				continue
			}
			if score := topTwo(selection[i*size : (i+1)*size]); best < 0 || score > bestScore {
				best, bestScore = i, score
			}
		}
		keep[best] = true
	}
	for i := range selection {
		if !keep[i/size] {
			selection[i] = lowest
		}
	}
}

// topTwo is the sum of the two largest scores, or the score of a single expert.
func topTwo(scores []float32) float32 {
	if len(scores) == 1 {
		return scores[0]
	}
	first, second := float32(math.Inf(-1)), float32(math.Inf(-1))
	for _, s := range scores {
		first, second = max(first, s), max(second, min(first, s))
	}
	return first + second
}

// argmax returns the first of the largest scores that are not taken. With NaN among the scores, it still
// returns one that is not taken.
func argmax(scores []float32, taken []bool) int {
	best := -1
	for i, s := range scores {
		if !taken[i] && (best < 0 || s > scores[best]) {
			best = i
		}
	}
	return best
}

// weigh normalises and scales the weights of the selected experts. The smallest divisor, 2^-14, is
// llama.cpp's.
func (g *gating) weigh(routing []plan.Routing) {
	divisor := float32(1)
	if g.Normalize {
		var sum float32
		for _, r := range routing {
			sum += r.Weight
		}
		divisor = max(sum, 0x1p-14)
	}
	for i := range routing {
		routing[i].Weight = routing[i].Weight / divisor * float32(g.Scale)
	}
}

// routeVec is the CPU kernel of plan.RouteVec.
type routeVec struct {
	gating  *gating
	routing []plan.Routing
}

func bindRouteVec(b *binder, p *plan.RouteVec) *routeVec {
	return &routeVec{b.gating(&p.Gating), b.routing(p.Routing, p.Gating.K)}
}

func (t *routeVec) size() (units, cost int) { return 1, 8 * t.gating.Experts }

func (t *routeVec) run(w *worker, _, _ int) { copy(t.routing, t.gating.choose(w)) }
