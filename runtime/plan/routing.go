package plan

// Gating turns router logits into selected experts (models: DeepSeek-V2 softmax,
// GLM-4 sigmoid with selection bias). Ties go to the lower expert.
type Gating struct {
	Logits          int // [Experts] float32
	Bias            int // [Experts] float32 added for selection only; -1: none
	Experts, K      int
	Sigmoid         bool
	Normalize       bool
	Scale           float64 // 1: none
	Groups, KGroups int     // 1, 1: none
}

// ByLogits says that experts are selected by their logits: softmax keeps the order of
// them, and with neither bias nor groups only that order counts.
func (g *Gating) ByLogits() bool { return !g.Sigmoid && g.Bias < 0 && g.Groups <= 1 }

// Grouping lists what all rows have selected by expert. Selection s is the (s mod K)-th
// expert of row s/K. Members holds the selections, those of one expert side by side in their
// order, and experts in ascending order: those of expert e are Members[Starts[e]] up to
// Members[Starts[e+1]], which may be none. Dead rows select nothing: after the selections of
// the others, Members is undefined.
type Grouping struct {
	Starts  int // [Experts+1]uint32
	Members int // [Width*K]uint32
	Experts int // of the model
	K       int // experts per row
}

// Entries bounds how many tiles of a given number of selections the rows make of all experts: one of each that is selected,
// and another one for every full tile.
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

// RouteBatch is RouteVec and GroupExperts for the few rows of a batch: one threadgroup routes
// all rows, each simdgroup its share of them side by side, and groups what they select.
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

// GroupExperts groups what all rows have selected: a threadgroup for each expert of the
// model counts what comes before its own selections.
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
