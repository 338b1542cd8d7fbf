package msl

import (
	"fmt"

	"mla/runtime/plan"
)

// use is what a part does with a slot.
type use int

const (
	weight  use = iota // a typed matrix of cols columns
	floats             // read-only float32: norm weights, biases, logits, splits, the rope table
	input              // an activation
	output             // an activation, written
	results            // float32, written
	cacheIn            // the latent cache
	cacheOut
	routeIn // Routing
	routeOut
	integers    // uint32
	integersOut // uint32, written
	stateIn     // Sampling
	stateOut    // Sampling, written
	rowOut      // the row, written
	counters    // of a tail
)

// ref is one use of a slot by a part.
type ref struct {
	slot int
	use  use
	cols int // of a weight
}

// refs lists the slots that a part uses.
func refs(p plan.Part) []ref {
	switch p := p.(type) {
	case *plan.MatVec:
		list := append(optional(p.Up, weight, p.Cols), ref{p.W, weight, p.Cols})
		list = append(list, outputRefs(p.Out, p.HandOver)...)
		list = append(list, optional(p.Add, input, 0)...)
		if p.Rope != nil {
			list = append(list, ref{slot: p.Rope.Table, use: floats})
		}
		if p.Combine != nil {
			return append(list, combineRefs(p.Combine)...)
		}
		list = append(list, rescaleRefs(p.Rescale)...)
		return append(list, inputRefs(p.In, p.Norm)...)
	case *plan.Experts:
		list := append(optional(p.Up, weight, p.Cols), ref{p.W, weight, p.Cols}, ref{slot: p.Out.Slot, use: output})
		list = append(list, rescaleRefs(p.Rescale)...)
		list = append(list, inputRefs(p.In, p.Norm)...)
		list = append(list, groupingRefs(p.Grouping, integers)...)
		if p.Gating == nil {
			return append(list, ref{slot: p.Routing, use: routeIn})
		}
		return append(list, gatingRefs(p.Gating, p.Routing)...)
	case *plan.ExpertsSum:
		list := []ref{{p.W, weight, p.Cols}, {slot: p.In.Slot, use: input}, {slot: p.Routing, use: routeIn}}
		list = append(list, outputRefs(p.Out, p.HandOver)...)
		if p.Shared >= 0 {
			list = append(list, ref{p.Shared, weight, p.SharedCols}, ref{slot: p.SharedIn.Slot, use: input})
		}
		return append(list, optional(p.Add, input, 0)...)
	case *plan.StoreKV:
		list := append(inputRefs(p.Lat, p.Norm), ref{slot: p.KPe.Slot, use: input}, ref{slot: p.Cache.Slot, use: cacheOut}, ref{slot: p.Cache.Tables, use: integers})
		if p.Rope != nil {
			list = append(list, ref{slot: p.Rope.Table, use: floats})
		}
		return list
	case *plan.Attend:
		return []ref{{slot: p.QAbs.Slot, use: input}, {slot: p.QPe.Slot, use: input}, {slot: p.Cache.Slot, use: cacheIn}, {slot: p.Cache.Tables, use: integers},
			{slot: p.Out, use: results}, {slot: p.ML, use: results}}
	case *plan.Embed:
		return append(outputRefs(p.Out, p.HandOver), ref{p.W, weight, p.Dim})
	case *plan.RouteVec:
		return append(gatingRefs(&p.Gating, p.Routing), groupingRefs(p.Grouping, integersOut)...)
	}
	return vectorRefs(p)
}

// vectorRefs are the refs of the parts without a weight matrix.
func vectorRefs(p plan.Part) []ref {
	switch p := p.(type) {
	case *plan.NormVec:
		return append(inputRefs(p.In, &p.Norm), ref{slot: p.Out.Slot, use: output})
	case *plan.RopeVec:
		return []ref{{slot: p.In.Slot, use: input}, {slot: p.Out.Slot, use: output}, {slot: p.Rope.Table, use: floats}}
	case *plan.CombineVec:
		return append(combineRefs(&p.Combine), ref{slot: p.Out.Slot, use: output})
	case *plan.SwiGLUVec:
		return []ref{{slot: p.Gate.Slot, use: input}, {slot: p.Up.Slot, use: input}, {slot: p.Out.Slot, use: output}}
	case *plan.AddVec:
		return []ref{{slot: p.A.Slot, use: input}, {slot: p.B.Slot, use: input}, {slot: p.Out.Slot, use: output}}
	case *plan.WeightedSum:
		list := []ref{{slot: p.In.Slot, use: input}, {slot: p.Routing, use: routeIn}}
		for _, slot := range p.Add {
			list = append(list, ref{slot: slot, use: input})
		}
		return append(list, outputRefs(p.Out, p.HandOver)...)
	}
	return sampleRefs(p)
}

func groupingRefs(g *plan.Grouping, u use) []ref {
	if g == nil {
		return nil
	}
	return []ref{{slot: g.Starts, use: u}, {slot: g.Members, use: u}}
}

func optional(slot int, u use, cols int) []ref {
	if slot < 0 {
		return nil
	}
	return []ref{{slot, u, cols}}
}

func inputRefs(in plan.Vec, n *plan.Norm) []ref {
	list := []ref{{slot: in.Slot, use: input}}
	if n != nil {
		list = append(list, ref{slot: n.Weight, use: floats})
	}
	return list
}

func rescaleRefs(r *plan.Rescale) []ref {
	if r == nil {
		return nil
	}
	return []ref{{slot: r.Squares, use: floats}}
}

// outputRefs are a result, unless it goes nowhere as it is, and what is handed over.
func outputRefs(out plan.Vec, h *plan.HandOver) []ref {
	if h == nil {
		return []ref{{slot: out.Slot, use: output}}
	}
	return append(optional(out.Slot, output, 0), ref{slot: h.Weight, use: floats}, ref{slot: h.Ready, use: output}, ref{slot: h.Squares, use: results})
}

func combineRefs(c *plan.Combine) []ref {
	return []ref{{slot: c.Out, use: floats}, {slot: c.ML, use: floats}}
}

func gatingRefs(g *plan.Gating, routing int) []ref {
	return append(optional(g.Bias, floats, 0), ref{slot: g.Logits, use: floats}, ref{slot: routing, use: routeOut})
}

// check says what is wrong with a use of a slot of kernel k.
func (r ref) check(k *plan.Kernel) error {
	if r.slot < 0 || r.slot >= len(k.Slots) {
		return fmt.Errorf("slot %d of %d", r.slot, len(k.Slots))
	}
	s := &k.Slots[r.slot]
	number := s.Elem == plan.ElemF32 || s.Elem == plan.ElemF16 || s.Elem == plan.ElemAct
	cache := s.Elem == plan.ElemTyped && s.Space == plan.SpaceKV
	var ok bool
	switch r.use {
	case weight:
		ok = s.Elem == plan.ElemTyped && s.Space == plan.SpaceWeight
	case floats:
		ok = s.Elem == plan.ElemF32
	case input:
		ok = number
	case output:
		ok = number && s.Write
	case results:
		ok = s.Elem == plan.ElemF32 && s.Write
	case cacheIn:
		ok = cache
	case cacheOut:
		ok = cache && s.Write
	case routeIn:
		ok = s.Elem == plan.ElemRoute
	case routeOut:
		ok = s.Elem == plan.ElemRoute && s.Write
	case integers:
		ok = s.Elem == plan.ElemU32
	case integersOut:
		ok = s.Elem == plan.ElemU32 && s.Write
	case stateIn:
		ok = s.Elem == plan.ElemSampling
	case stateOut:
		ok = s.Elem == plan.ElemSampling && s.Write
	case counters:
		ok = s.Elem == plan.ElemCounter && s.Space == plan.SpaceCounters && s.Write
	case rowOut:
		ok = s.Elem == plan.ElemRow && s.Write
	}
	if !ok {
		return fmt.Errorf("slot %s (space %d, element %d, write %t) cannot serve as %s", s.Name, s.Space, s.Elem, s.Write, useNames[r.use])
	}
	return nil
}

var useNames = [...]string{
	weight: "a typed weight", floats: "float32 input", input: "an input", output: "an output", results: "float32 output",
	cacheIn: "a cache", cacheOut: "a written cache", routeIn: "routing", routeOut: "written routing",
	integers: "integers", integersOut: "written integers", stateIn: "the sampler's state", stateOut: "the written state of the sampler",
	rowOut: "the written row", counters: "counters",
}
