package msl

import (
	"fmt"
	"reflect"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// body is how a type of part is printed.
type body struct {
	template string
	// waits says that the template itself has GRID_WAIT, where it waits for the previous dispatch. Before it
	// the template loads what that dispatch does not write: weights, states, and cache rows of earlier
	// tokens.
	waits bool
	// floats returns the threadgroup memory that the template uses, in floats; nil: none.
	floats func(v *partView) int
	// view sets the fields of the view that the template needs; nil: none.
	view func(v *partView) error
}

// bodies is the table of the types of parts. Products on simdgroup matrices have templates of their own, see bodyOf.
var bodies = map[reflect.Type]body{
	kind[*plan.MatVec]():       {"matvec.msl", true, (*partView).laneFloats, (*partView).viewMatVec},
	kind[*plan.Experts]():      {"experts.msl", true, (*partView).laneFloats, (*partView).viewExperts},
	kind[*plan.ExpertsSum]():   {"experts_sum.msl", true, (*partView).laneFloats, (*partView).viewRows},
	kind[*plan.StoreKV]():      {"store_kv.msl", true, (*partView).storeFloats, nil},
	kind[*plan.Attend]():       {"attend.msl", true, (*partView).attentionFloats, (*partView).viewAttend},
	kind[*plan.ExpandHeads]():  {"expand_heads.msl", false, (*partView).headsFloats, nil},
	kind[*plan.AttendHeads]():  {"attend_heads.msl", false, (*partView).headsFloats, nil},
	kind[*plan.Embed]():        {"embed.msl", false, nil, nil},
	kind[*plan.NormVec]():      {"norm.msl", false, func(v *partView) int { return v.Simdgroups() }, nil},
	kind[*plan.RopeVec]():      {"rope.msl", false, nil, nil},
	kind[*plan.CombineVec]():   {"combine.msl", false, (*partView).combineVecFloats, nil},
	kind[*plan.SwiGLUVec]():    {"swiglu.msl", false, nil, nil},
	kind[*plan.DeltaHeads]():   {"delta_heads.msl", true, (*partView).deltaFloats, (*partView).viewDelta},
	kind[*plan.DeltaVectors](): {"delta_vectors.msl", true, (*partView).vectorFloats, nil},
	kind[*plan.DeltaColumns](): {"delta_columns.msl", true, (*partView).columnFloats, nil},
	kind[*plan.DeltaChunks]():  {"delta_vectors.msl", true, (*partView).chunkFloats, nil},
	kind[*plan.DeltaFold]():    {"delta_fold.msl", true, (*partView).foldFloats, nil},
	kind[*plan.GatedNormVec](): {"gated_norm.msl", false, nil, nil},
	kind[*plan.GateHeads]():    {"gate_heads.msl", false, nil, nil},
	kind[*plan.AddVec]():       {"add.msl", false, nil, nil},
	kind[*plan.RouteVec]():     {"route.msl", false, nil, nil},
	kind[*plan.RouteBatch]():   {"route_batch.msl", false, (*partView).Codes, nil},
	kind[*plan.GroupExperts](): {"group_experts.msl", false, (*partView).pairFloats, nil},
	kind[*plan.WeightedSum]():  {"weighted_sum.msl", false, nil, nil},
	kind[*plan.GatherVec]():    {"gather.msl", false, nil, nil},
	kind[*plan.ScanPicks]():    {"scan_picks.msl", false, nil, nil},
	kind[*plan.PickTokens]():   {"pick_tokens.msl", false, func(v *partView) int { return pickFloats(v.P.(*plan.PickTokens).Scanned, v.Threads) }, nil},
}

func kind[P plan.Part]() reflect.Type { return reflect.TypeFor[P]() }

// bodyOf returns how a part is printed. It fails if its type has no template.
func bodyOf(p plan.Part) (body, error) {
	b, ok := bodies[reflect.TypeOf(p)]
	if !ok {
		return b, fmt.Errorf("no template for a part of type %T", p)
	}
	if !verify.Matrices(p) {
		return b, nil
	}
	b.template, b.floats = "matmul.msl", (*partView).productFloats
	if e, ok := p.(*plan.Experts); ok {
		b.template = "experts_matmul.msl"
		if e.Persistent > 0 {
			b.template = "experts_batch.msl"
		}
	}
	return b, nil
}

func (v *partView) viewMatVec() error {
	p := v.P.(*plan.MatVec)
	v.Entries = p.Batch
	if err := v.viewRows(); err != nil || verify.Matrices(p) {
		return err
	}
	if p.Rope != nil {
		v.N += v.N % 2 // a simdgroup rotates whole pairs
	}
	return nil
}

func (v *partView) viewExperts() error {
	p := v.P.(*plan.Experts)
	if v.Entries = p.K; p.Tokens > 0 {
		v.Entries = p.Grouping.Experts
	}
	return v.viewRows()
}

// viewRows sets N, the rows of each simdgroup of a threadgroup.
func (v *partView) viewRows() error {
	if m := v.Product; verify.Matrices(v.P) {
		v.N = m.RowsPerGroup * v.Slices() / v.Simdgroups()
	} else {
		v.N = min(ceil(m.RowsPerGroup, v.Simdgroups()/v.Slices()), m.Rows)
	}
	return nil
}

func (v *partView) viewAttend() (err error) {
	v.Attention, err = attentionShape(v.P.(*plan.Attend), v.Threads, v.printer.target().Budget(v.Class))
	return err
}

func (v *partView) attentionFloats() int { return v.Attention.floats() }

// pairFloats is two numbers for every simdgroup.
func (v *partView) pairFloats() int { return 2 * v.Simdgroups() }

// storeFloats is a norm's sum of squares for every simdgroup.
func (v *partView) storeFloats() int {
	if v.P.(*plan.StoreKV).Norm == nil {
		return 0
	}
	return v.Simdgroups()
}

func (v *partView) combineVecFloats() int {
	p := v.P.(*plan.CombineVec)
	return combineFloats(&p.Combine, p.Dim, v.Threads)
}
