package plan

// Gating turns router logits into selected experts: softmax in DeepSeek-V2, sigmoid with a selection bias in
// DeepSeek-V3 and GLM-4. Of equal scores the lower expert wins.
type Gating struct {
	Logits          int // [Experts] float32
	Bias            int // [Experts] float32, added for the selection only; -1: none
	Experts, K      int
	Sigmoid         bool
	Normalize       bool
	Scale           float64 // 1: none
	Groups, KGroups int     // 1, 1: none
}

// ByLogits says that the largest logits select the experts. Softmax keeps their order, and without bias and
// groups nothing else changes it.
func (g *Gating) ByLogits() bool { return !g.Sigmoid && g.Bias < 0 && g.Groups <= 1 }

// Grouping lists the selections of all rows by expert. Selection s is the (s mod K)-th expert of row s/K.
// Members holds the selections sorted by expert, then by number: those of expert e are
// Members[Starts[e]:Starts[e+1]], which may be empty. Dead rows select nothing, and Members after the last
// selection is undefined.
type Grouping struct {
	Starts  int // [Experts+1]uint32
	Members int // [Width*K]uint32
	Experts int // of the model
	K       int // experts per row
}

// Entries bounds the number of tiles of all experts, with tokens selections per tile: one partial tile for
// each selected expert, and all full tiles.
func (g *Grouping) Entries(width, tokens int) int {
	all := width * g.K
	return min(g.Experts, all) + all/max(tokens, 1)
}

// RouteVec runs gating alone and writes Routing.
type RouteVec struct {
	Gating  Gating
	Routing int
}

// Groups implements Part.
func (p *RouteVec) Groups() int { return 1 }

// Sizes implements Part.
func (p *RouteVec) Sizes() []int { return nil }

// Uses implements Part.
func (p *RouteVec) Uses() []Use {
	var l uses
	l.gating(&p.Gating, p.Routing)
	return l
}

// RouteBatch is RouteVec and GroupExperts in one for small batches: one threadgroup routes all rows, each
// simdgroup its share of them, and then groups the selections.
type RouteBatch struct {
	Gating   Gating
	Routing  int
	Grouping Grouping
}

// Groups implements Part.
func (p *RouteBatch) Groups() int { return 1 }

// Sizes implements Part.
func (p *RouteBatch) Sizes() []int { return []int{p.Grouping.Experts, p.Grouping.K} }

// Uses implements Part.
func (p *RouteBatch) Uses() []Use {
	var l uses
	l.gating(&p.Gating, p.Routing)
	l.grouping(&p.Grouping, true)
	return l
}

func (p *RouteBatch) groupsOfAll(*Kernel) int { return 1 }

// GroupExperts groups the selections of all rows by expert. Each expert of the model has a threadgroup, which
// counts the selections before its own.
type GroupExperts struct {
	Routing  int
	Grouping Grouping
}

// Groups implements Part.
func (p *GroupExperts) Groups() int { return p.Grouping.Experts }

// Sizes implements Part.
func (p *GroupExperts) Sizes() []int { return []int{p.Grouping.Experts, p.Grouping.K} }

// Uses implements Part.
func (p *GroupExperts) Uses() []Use {
	var l uses
	l.routing(p.Routing, p.Grouping.K)
	l.grouping(&p.Grouping, true)
	return l
}

func (p *GroupExperts) groupsOfAll(*Kernel) int { return p.Groups() }
