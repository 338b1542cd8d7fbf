package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// Role is what a part does with a slot.
type Role int

// The roles.
const (
	Weight  Role = iota // a typed matrix of Use.Cols columns
	Floats              // read-only float32: norm weights, biases, logits, splits, the rope table
	Input               // an activation
	Output              // an activation, written
	Results             // float32, written
	CacheIn             // the latent cache
	CacheOut
	HeadsIn // expanded heads
	HeadsOut
	RouteIn // Routing
	RouteOut
	Integers    // uint32
	IntegersOut // uint32, written
	StateIn     // Sampling
	StateOut    // Sampling, written
	RowOut      // the row, written
	Counters    // of a last-block part or of persistent threadgroups
	PicksIn     // Pick
	PicksOut    // Pick, written
	AdjustsIn   // Adjust
)

// Use is one use of a slot by a part.
type Use struct {
	Slot int
	As   Role
	Cols int // of a weight
}

// Uses lists the slots that a part uses.
func Uses(p plan.Part) []Use {
	switch p := p.(type) {
	case *plan.MatVec:
		list := append(optional(p.Up, Weight, p.Cols), Use{p.W, Weight, p.Cols})
		list = append(list, outputUses(p.Out, p.NormPartial)...)
		list = append(list, optional(p.Add, Input, 0)...)
		if p.Rope != nil {
			list = append(list, Use{Slot: p.Rope.Table, As: Floats})
		}
		if p.Combine != nil {
			return append(list, combineUses(p.Combine)...)
		}
		list = append(list, normApplyUses(p.NormApply)...)
		return append(list, inputUses(p.In, p.Norm)...)
	case *plan.Experts:
		list := append(optional(p.Up, Weight, p.Cols), Use{p.W, Weight, p.Cols}, Use{Slot: p.Out.Slot, As: Output})
		list = append(list, normApplyUses(p.NormApply)...)
		list = append(list, inputUses(p.In, p.Norm)...)
		if p.Persistent > 0 {
			list = append(list, Use{Slot: p.Tickets, As: Counters})
		}
		switch {
		case p.Grouping != nil:
			return append(list, groupingUses(p.Grouping, Integers)...)
		case p.Gating == nil:
			return append(list, Use{Slot: p.Routing, As: RouteIn})
		}
		return append(list, gatingUses(p.Gating, p.Routing)...)
	case *plan.ExpertsSum:
		list := []Use{{p.W, Weight, p.Cols}, {Slot: p.In.Slot, As: Input}, {Slot: p.Routing, As: RouteIn}}
		list = append(list, outputUses(p.Out, p.NormPartial)...)
		if p.Shared >= 0 {
			list = append(list, Use{p.Shared, Weight, p.SharedCols}, Use{Slot: p.SharedIn.Slot, As: Input})
		}
		return append(list, optional(p.Add, Input, 0)...)
	case *plan.StoreKV:
		list := append(inputUses(p.Lat, p.Norm), Use{Slot: p.KPe.Slot, As: Input}, Use{Slot: p.Cache.Slot, As: CacheOut}, Use{Slot: p.Cache.Tables, As: Integers})
		if p.Rope != nil {
			list = append(list, Use{Slot: p.Rope.Table, As: Floats})
		}
		return list
	case *plan.Attend:
		return []Use{{Slot: p.QAbs.Slot, As: Input}, {Slot: p.QPe.Slot, As: Input}, {Slot: p.Cache.Slot, As: CacheIn}, {Slot: p.Cache.Tables, As: Integers},
			{Slot: p.Out, As: Output}, {Slot: p.ML, As: Results}}
	case *plan.AttendRows:
		return []Use{{Slot: p.QAbs.Slot, As: Input}, {Slot: p.QPe.Slot, As: Input}, {Slot: p.Cache.Slot, As: CacheIn}, {Slot: p.Cache.Tables, As: Integers},
			{Slot: p.Out.Slot, As: Output}}
	case *plan.ExpandHeads:
		cols := p.LatDim
		if p.Keys {
			cols = p.Dim
		}
		return []Use{{p.W, Weight, cols}, {Slot: p.Cache.Slot, As: CacheIn}, {Slot: p.Cache.Tables, As: Integers}, {Slot: p.Out, As: HeadsOut}}
	case *plan.AttendHeads:
		return []Use{{Slot: p.QNope.Slot, As: Input}, {Slot: p.QPe.Slot, As: Input}, {Slot: p.KV.Slot, As: HeadsIn}, {Slot: p.KV.Tables, As: Integers},
			{Slot: p.Out.Slot, As: Output}}
	case *plan.Embed:
		return append(outputUses(p.Out, p.NormPartial), Use{p.W, Weight, p.Dim})
	case *plan.RouteVec:
		return gatingUses(&p.Gating, p.Routing)
	case *plan.RouteBatch:
		return append(gatingUses(&p.Gating, p.Routing), groupingUses(&p.Grouping, IntegersOut)...)
	case *plan.GroupExperts:
		return append(groupingUses(&p.Grouping, IntegersOut), Use{Slot: p.Routing, As: RouteIn})
	}
	return vectorUses(p)
}

// vectorUses are the uses of the parts without a weight matrix.
func vectorUses(p plan.Part) []Use {
	switch p := p.(type) {
	case *plan.NormVec:
		return append(inputUses(p.In, &p.Norm), Use{Slot: p.Out.Slot, As: Output})
	case *plan.RopeVec:
		return []Use{{Slot: p.In.Slot, As: Input}, {Slot: p.Out.Slot, As: Output}, {Slot: p.Rope.Table, As: Floats}}
	case *plan.CombineVec:
		return append(combineUses(&p.Combine), Use{Slot: p.Out.Slot, As: Output})
	case *plan.SwiGLUVec:
		return []Use{{Slot: p.Gate.Slot, As: Input}, {Slot: p.Up.Slot, As: Input}, {Slot: p.Out.Slot, As: Output}}
	case *plan.AddVec:
		return []Use{{Slot: p.A.Slot, As: Input}, {Slot: p.B.Slot, As: Input}, {Slot: p.Out.Slot, As: Output}}
	case *plan.GatherVec:
		return []Use{{Slot: p.Vec, As: Output}}
	case *plan.WeightedSum:
		list := []Use{{Slot: p.In.Slot, As: Input}, {Slot: p.Routing, As: RouteIn}}
		for _, slot := range p.Add {
			list = append(list, Use{Slot: slot, As: Input})
		}
		return append(list, outputUses(p.Out, p.NormPartial)...)
	}
	return sampleUses(p)
}

func groupingUses(g *plan.Grouping, u Role) []Use {
	return []Use{{Slot: g.Starts, As: u}, {Slot: g.Members, As: u}}
}

func optional(slot int, u Role, cols int) []Use {
	if slot < 0 {
		return nil
	}
	return []Use{{slot, u, cols}}
}

func inputUses(in plan.Vec, n *plan.Norm) []Use {
	list := []Use{{Slot: in.Slot, As: Input}}
	if n != nil {
		list = append(list, Use{Slot: n.Weight, As: Floats})
	}
	return list
}

func normApplyUses(r *plan.NormApply) []Use {
	if r == nil {
		return nil
	}
	return []Use{{Slot: r.Squares, As: Floats}}
}

// outputUses are a result, unless it goes nowhere as it is, and the first half of a norm.
func outputUses(out plan.Vec, h *plan.NormPartial) []Use {
	if h == nil {
		return []Use{{Slot: out.Slot, As: Output}}
	}
	return append(optional(out.Slot, Output, 0), Use{Slot: h.Weight, As: Floats}, Use{Slot: h.Ready, As: Output}, Use{Slot: h.Squares, As: Results})
}

func combineUses(c *plan.Combine) []Use {
	return []Use{{Slot: c.Out, As: Input}, {Slot: c.ML, As: Floats}}
}

func gatingUses(g *plan.Gating, routing int) []Use {
	return append(optional(g.Bias, Floats, 0), Use{Slot: g.Logits, As: Floats}, Use{Slot: routing, As: RouteOut})
}

// check says what is wrong with a use of a slot of kernel k.
func (r Use) check(k *plan.Kernel) error {
	if r.Slot < 0 || r.Slot >= len(k.Slots) {
		return fmt.Errorf("slot %d of %d", r.Slot, len(k.Slots))
	}
	s := &k.Slots[r.Slot]
	number := s.Elem == plan.ElemF32 || s.Elem == plan.ElemF16 || s.Elem == plan.ElemAct
	cache := s.Elem == plan.ElemTyped && s.Space == plan.SpaceKV
	var ok bool
	switch r.As {
	case Weight:
		ok = s.Elem == plan.ElemTyped && s.Space == plan.SpaceWeight
	case Floats:
		ok = s.Elem == plan.ElemF32
	case Input:
		ok = number
	case Output:
		ok = number && s.Write
	case Results:
		ok = s.Elem == plan.ElemF32 && s.Write
	case CacheIn:
		ok = cache
	case CacheOut:
		ok = cache && s.Write
	case HeadsIn:
		ok = s.Space == plan.SpaceHeads
	case HeadsOut:
		ok = s.Space == plan.SpaceHeads && s.Write
	case RouteIn:
		ok = s.Elem == plan.ElemRoute
	case RouteOut:
		ok = s.Elem == plan.ElemRoute && s.Write
	case Integers:
		ok = s.Elem == plan.ElemU32
	case IntegersOut:
		ok = s.Elem == plan.ElemU32 && s.Write
	case StateIn:
		ok = s.Elem == plan.ElemSampling
	case StateOut:
		ok = s.Elem == plan.ElemSampling && s.Write
	case Counters:
		ok = s.Elem == plan.ElemCounter && s.Space == plan.SpaceCounters && s.Write
	case PicksIn:
		ok = s.Elem == plan.ElemPick
	case PicksOut:
		ok = s.Elem == plan.ElemPick && s.Write
	case AdjustsIn:
		ok = s.Elem == plan.ElemAdjust
	case RowOut:
		ok = s.Elem == plan.ElemRow && s.Write
	}
	if !ok {
		return fmt.Errorf("slot %s (space %d, element %d, write %t) cannot serve as %s", s.Name, s.Space, s.Elem, s.Write, roleNames[r.As])
	}
	return nil
}

var roleNames = [...]string{
	Weight: "a typed weight", Floats: "float32 input", Input: "an input", Output: "an output", Results: "float32 output",
	CacheIn: "a cache", CacheOut: "a written cache", HeadsIn: "expanded heads", HeadsOut: "written heads", RouteIn: "routing", RouteOut: "written routing",
	Integers: "integers", IntegersOut: "written integers", StateIn: "the sampler's state", StateOut: "the written state of the sampler",
	RowOut: "the written row", Counters: "counters", PicksIn: "picks", PicksOut: "written picks", AdjustsIn: "adjustments of logits",
}
