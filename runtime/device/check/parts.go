package check

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// contents is what a kernel argument holds before a launch.
type contents uint8

const (
	signal     contents = iota + 1 // activations, cache rows: normally distributed
	matrix                         // rows of the variant's type
	scales                         // float32 weights of a norm, around 1
	biases                         // float32 that shift the selection of experts a little
	scores                         // router logits, none close to another
	angles                         // the rope table
	choice                         // selected experts and their weights
	partials                       // outputs of attention splits; NaN where a split is empty
	maxima                         // (m, l) of attention splits
	squares                        // sums of so many squares as the argument has terms
	strides                        // batch strides
	state                          // the row
	pageTables                     // block tables
	result                         // nothing: a kernel that reads it reads NaN
	starts                         // where each expert's members begin; see plan.Grouping
	members                        // selections by expert
	counts                         // of threadgroups that arrived: zeros, before and after
)

// argument is what a part does with a slot.
type argument struct {
	holds contents
	// terms is how many float32 terms a number sums up: of a result, over all that
	// leads to it within the kernel.
	terms int
	// perSplit is how many numbers of a result belong to one attention split, if
	// the kernel leaves those of empty splits as they are; 0: it writes all.
	perSplit int
	// attention is whether the terms are of attention, whose products may be of
	// halves where the cache has halves.
	attention bool
	// expanded is whether its weights may have been rounded to halves where the cache has halves.
	expanded bool
	// product is whether its weights may have been rounded to halves.
	product, gated bool // gated: two of them are multiplied
	// rounded is whether what it sums up is a result that the kernel has rounded.
	rounded bool
}

// arguments are all slots of a kernel, and the cut of the cache if it has one.
type arguments struct {
	kernel   *plan.Kernel
	slots    map[int]argument
	splits   *plan.Splits
	deep     bool           // it reads the cache, but not in splits
	attend   *plan.Attend   // nil: none
	grouping *plan.Grouping // that a part reads; nil: none
	err      error
}

// argumentsOf lists what the parts of a kernel do with its slots. It fails for
// parts it does not know and for slots that no part it knows uses: a new part,
// or piece of one, belongs into part below.
func argumentsOf(k *plan.Kernel) (*arguments, error) {
	a := &arguments{kernel: k, slots: map[int]argument{}}
	for i := range k.Slots {
		switch k.Slots[i].Elem {
		case plan.ElemRow:
			a.add(i, argument{holds: state})
		case plan.ElemArgs:
			a.add(i, argument{holds: strides})
		}
	}
	for _, p := range k.Parts {
		a.part(p)
	}
	for i := range k.LastBlocks {
		a.lastBlock(&k.LastBlocks[i])
	}
	for i := range k.Slots {
		if _, ok := a.slots[i]; !ok && a.err == nil {
			a.err = fmt.Errorf("no part is known to use slot %s", k.Slots[i].Name)
		}
	}
	if a.err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, a.err)
	}
	return a, nil
}

// lastBlock notes the slots of a part that reads what another part of the kernel makes:
// its results sum up the terms of both.
func (a *arguments) lastBlock(t *plan.LastBlock) {
	own := &arguments{kernel: a.kernel, slots: map[int]argument{}}
	own.part(t.Part)
	terms := 0
	for slot, use := range own.slots {
		if made, ok := a.slots[slot]; ok && made.holds == result && use.holds == signal {
			terms = max(terms, made.terms)
			delete(own.slots, slot)
		}
	}
	for slot, use := range own.slots {
		if use.holds == result {
			use.terms += terms
			use.rounded = true
		}
		a.add(slot, use)
	}
	if own.err != nil && a.err == nil {
		a.err = own.err
	}
	a.all(counts, t.Counters)
}

// add notes the use of a slot; negative ones stand for pieces that a part lacks.
func (a *arguments) add(slot int, use argument) {
	if slot < 0 {
		return
	}
	before, ok := a.slots[slot]
	if ok && before.holds != use.holds && a.err == nil {
		a.err = fmt.Errorf("slot %s has two uses", a.kernel.Slots[slot].Name)
	}
	use.terms = max(use.terms, before.terms)
	a.slots[slot] = use
}

// all adds several slots of one use.
func (a *arguments) all(c contents, slots ...int) {
	for _, s := range slots {
		a.add(s, argument{holds: c})
	}
}

func (a *arguments) out(slot, terms int) { a.add(slot, argument{holds: result, terms: terms}) }

func (a *arguments) norm(n *plan.Norm) {
	if n != nil {
		a.all(scales, n.Weight)
	}
}

func (a *arguments) normApply(r *plan.NormApply, cols int) {
	if r != nil {
		a.add(r.Squares, argument{holds: squares, terms: cols / max(r.Count, 1)})
	}
}

// normPartial notes the partial sums that a part makes of numbers that sum up so many terms.
func (a *arguments) normPartial(h *plan.NormPartial, terms int) {
	if h != nil {
		a.all(scales, h.Weight)
		a.out(h.Ready, terms)
		a.out(h.Squares, terms+h.Group)
	}
}

// products notes that what a part of several rows makes are products of matrices, if they are.
func (a *arguments) products(p plan.Part, up, out int, h *plan.NormPartial) {
	slots := []int{out}
	if h != nil {
		slots = append(slots, h.Ready, h.Squares)
	}
	for _, slot := range slots {
		if use, ok := a.slots[slot]; ok && verify.Matrices(p) {
			use.product, use.gated = true, up >= 0
			a.slots[slot] = use
		}
	}
}

func (a *arguments) rope(r *plan.RopeAt) {
	if r != nil {
		a.all(angles, r.Table)
	}
}

func (a *arguments) gating(g *plan.Gating, routing int) {
	if g == nil {
		a.all(choice, routing)
		return
	}
	a.all(scores, g.Logits)
	a.all(biases, g.Bias)
	a.out(routing, g.Experts)
}

// groups notes the lists of selections by expert that a part makes.
func (a *arguments) groups(g *plan.Grouping) {
	a.out(g.Starts, 1)
	a.out(g.Members, 1)
}

func (a *arguments) combine(c *plan.Combine) {
	a.all(partials, c.Out)
	a.all(maxima, c.ML)
	a.splits = &c.Splits
}

// part notes the slots of one part.
func (a *arguments) part(p plan.Part) {
	switch p := p.(type) {
	case *plan.MatVec:
		a.all(matrix, p.W, p.Up)
		if p.Combine != nil {
			a.combine(p.Combine)
		} else {
			a.all(signal, p.In.Slot)
		}
		a.norm(p.Norm)
		a.normApply(p.NormApply, p.Cols)
		a.rope(p.Rope)
		a.all(signal, p.Add)
		a.out(p.Out.Slot, p.Cols)
		a.normPartial(p.NormPartial, p.Cols)
		a.products(p, p.Up, p.Out.Slot, p.NormPartial)
	case *plan.Experts:
		a.all(matrix, p.W, p.Up)
		a.all(signal, p.In.Slot)
		a.norm(p.Norm)
		a.normApply(p.NormApply, p.Cols)
		if a.grouping = p.Grouping; p.Grouping != nil {
			a.all(starts, p.Grouping.Starts)
			a.all(members, p.Grouping.Members)
			if p.Persistent > 0 {
				a.all(counts, p.Tickets)
			}
		} else {
			a.gating(p.Gating, p.Routing)
		}
		a.out(p.Out.Slot, p.Cols)
		a.products(p, p.Up, p.Out.Slot, nil)
	case *plan.ExpertsSum:
		a.all(matrix, p.W, p.Shared)
		a.all(signal, p.In.Slot, p.Add)
		a.all(choice, p.Routing)
		if p.Shared >= 0 {
			a.all(signal, p.SharedIn.Slot)
		}
		a.out(p.Out.Slot, p.K*p.Cols+p.SharedCols)
		a.normPartial(p.NormPartial, p.K*p.Cols+p.SharedCols)
	case *plan.StoreKV:
		a.all(signal, p.Lat.Slot, p.KPe.Slot)
		a.norm(p.Norm)
		a.rope(p.Rope)
		a.out(p.Cache.Slot, p.LatDim)
		a.all(pageTables, p.Cache.Tables)
	case *plan.Attend:
		a.all(signal, p.QAbs.Slot, p.QPe.Slot, p.Cache.Slot)
		a.all(pageTables, p.Cache.Tables)
		a.splits, a.attend = &p.Splits, p
		terms := p.LatDim + p.PeDim + context
		a.add(p.Out, argument{holds: result, terms: terms, perSplit: p.Heads * p.LatDim, attention: true})
		a.add(p.ML, argument{holds: result, terms: terms, attention: true})
	case *plan.AttendRows:
		a.all(signal, p.QAbs.Slot, p.QPe.Slot, p.Cache.Slot)
		a.all(pageTables, p.Cache.Tables)
		a.deep = true
		a.add(p.Out.Slot, argument{holds: result, terms: p.LatDim + p.PeDim + context, attention: true})
	case *plan.ExpandHeads:
		a.all(matrix, p.W)
		a.all(signal, p.Cache.Slot)
		a.all(pageTables, p.Cache.Tables)
		a.deep = true
		a.add(p.Out, argument{holds: result, terms: p.LatDim, expanded: true})
	case *plan.AttendHeads:
		a.all(signal, p.QNope.Slot, p.QPe.Slot, p.KV.Slot)
		a.all(pageTables, p.KV.Tables)
		a.deep = true
		a.add(p.Out.Slot, argument{holds: result, terms: p.NopeDim + p.PeDim + context, attention: true})
	case *plan.GatherVec:
		a.all(signal, p.Vec) // moved as it is
	case *plan.Embed:
		a.all(matrix, p.W)
		a.out(p.Out.Slot, 1)
		a.normPartial(p.NormPartial, 1)
	default:
		a.vectorPart(p)
	}
}

// vectorPart notes the slots of the parts without a matrix.
func (a *arguments) vectorPart(p plan.Part) {
	switch p := p.(type) {
	case *plan.NormVec:
		a.all(signal, p.In.Slot)
		a.norm(&p.Norm)
		a.out(p.Out.Slot, p.Dim)
	case *plan.RopeVec:
		a.all(signal, p.In.Slot)
		a.rope(&p.Rope)
		a.out(p.Out.Slot, 2)
	case *plan.CombineVec:
		a.combine(&p.Combine)
		a.out(p.Out.Slot, p.Combine.Splits.Count)
	case *plan.SwiGLUVec:
		a.all(signal, p.Gate.Slot, p.Up.Slot)
		a.out(p.Out.Slot, 1)
	case *plan.AddVec:
		a.all(signal, p.A.Slot, p.B.Slot)
		a.out(p.Out.Slot, 2)
	case *plan.RouteVec:
		a.gating(&p.Gating, p.Routing)
	case *plan.RouteBatch:
		a.gating(&p.Gating, p.Routing)
		a.groups(&p.Grouping)
	case *plan.GroupExperts:
		a.all(choice, p.Routing)
		a.groups(&p.Grouping)
	case *plan.WeightedSum:
		a.all(signal, p.In.Slot)
		a.all(signal, p.Add...)
		a.all(choice, p.Routing)
		a.out(p.Out.Slot, p.K+len(p.Add))
		a.normPartial(p.NormPartial, p.K+len(p.Add))
	default:
		if a.err == nil {
			a.err = fmt.Errorf("part %T is not known", p)
		}
	}
}
