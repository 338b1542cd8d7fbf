package kernel

import (
	"fmt"

	"mla/gen/ir"
	"mla/gen/weights"
	"mla/runtime/plan"
)

// part turns a chain of ops into a part of a kernel. It fails if ir.Composable does not list the chain.
func (b *builder) part(part *ir.Part) (plan.Part, error) {
	if !ir.Composable(part) {
		return nil, fmt.Errorf("no kernel runs %s (%s)", part.Name(), part.Signature())
	}
	ops := chain(part.Ops)
	switch {
	case part.Find(ir.DeltaRule) != nil && len(part.Ops) > 1:
		return b.deltaHeads(part), nil
	case part.Find(ir.Convolve) != nil && len(part.Ops) > 1:
		return b.deltaRows(part), nil
	case part.Find(ir.StoreKV) != nil:
		return b.storeKV(ops), nil
	case part.Find(ir.ExpertsMatVec) != nil && part.Find(ir.WeightedSum) != nil:
		return b.expertsSum(ops), nil
	case part.Find(ir.ExpertsMatVec) != nil:
		return b.experts(ops, part.Tickets), nil
	case part.Find(ir.MatVec) != nil:
		return b.matVec(ops)
	case part.Find(ir.Embed) != nil:
		return b.embed(ops), nil
	case part.Find(ir.RouteWeights) != nil:
		gating, routing := *b.gating(&ops), b.out(part.Find(ir.RouteWeights).Out[0])
		if op := ops.take(ir.GroupExperts); op != nil {
			return &plan.RouteBatch{Gating: gating, Routing: routing, Grouping: *b.grouping(b.out(op.Out[0]), b.out(op.Out[1]))}, nil
		}
		return &plan.RouteVec{Gating: gating, Routing: routing}, nil
	case part.Find(ir.WeightedSum) != nil:
		return b.weightedSum(ops), nil
	}
	return b.single(part.Ops[0])
}

// chain is the rest of a part's ops. take removes ops from its front.
type chain []*ir.Op

// take removes and returns the next op if it is of kind k; else it returns nil.
func (c *chain) take(k ir.Kind) *ir.Op {
	if len(*c) == 0 || (*c)[0].Kind != k {
		return nil
	}
	op := (*c)[0]
	*c = (*c)[1:]
	return op
}

// single selects the kernel part of one op.
func (b *builder) single(op *ir.Op) (plan.Part, error) {
	switch op.Kind {
	case ir.AttendSplit:
		return b.attend(op), nil
	case ir.GroupExperts:
		return &plan.GroupExperts{Routing: b.in(op.In[0].V), Grouping: *b.grouping(b.out(op.Out[0]), b.out(op.Out[1]))}, nil
	case ir.Expand:
		return b.expandHeads(op), nil
	case ir.Attention:
		return b.attendHeads(op), nil
	case ir.RMSNorm:
		return &plan.NormVec{In: b.vec(op.In[0]), Norm: *b.norm(op), Out: b.vecOut(op, 0), Dim: op.In[0].Len}, nil
	case ir.Rope:
		return &plan.RopeVec{In: b.vec(op.In[0]), Out: b.vecOut(op, op.In[0].Stride), Heads: op.Heads, Rope: *b.ropeAt(op)}, nil
	case ir.Combine:
		return &plan.CombineVec{Combine: *b.combine(op), Out: b.vecOut(op, op.Out[0].Len/op.Heads), Dim: op.Out[0].Len / op.Heads}, nil
	case ir.SwiGLU:
		return &plan.SwiGLUVec{Gate: b.vec(op.In[0]), Up: b.vec(op.In[1]), Limit: op.Limit, Out: b.vecOut(op, 0), Dim: op.Out[0].Len, RowsPerGroup: b.k.Threads}, nil
	case ir.DeltaRule:
		return b.deltaColumns(op), nil
	case ir.DeltaFold:
		return b.deltaFold(op), nil
	case ir.GatedNorm:
		dim := op.In[0].Len
		return &plan.GatedNormVec{In: b.perHead(op.In[0].V, op.Heads), Gate: b.perHead(op.In[1].V, op.Heads), Norm: b.floats(op.W[0]), Eps: op.Eps,
			Out: b.vecOut(op, dim), Heads: op.Heads, Dim: dim, HeadsPerGroup: b.k.Threads / simdWidth}, nil
	case ir.GateHeads:
		dim := op.In[0].Len
		return &plan.GateHeads{In: b.vec(op.In[0]), Gate: b.vec(op.In[1]), Out: b.vecOut(op, dim), Heads: op.Heads, Dim: dim, RowsPerGroup: b.k.Threads}, nil
	case ir.Add:
		return &plan.AddVec{A: b.vec(op.In[0]), B: b.vec(op.In[1]), Out: b.vecOut(op, 0), Dim: op.Out[0].Len, RowsPerGroup: b.k.Threads}, nil
	}
	return nil, fmt.Errorf("no kernel computes %s", op.Kind)
}

func (b *builder) vec(r ir.Ref) plan.Vec {
	return plan.Vec{Slot: b.in(r.V), Offset: r.Off, Stride: r.Stride}
}

// vecOut returns an op's output, one entry every stride elements. Slot -1 says that only its own part reads
// it, so it is not stored.
func (b *builder) vecOut(op *ir.Op, stride int) plan.Vec {
	if b.uses.Local(op.Out[0]) {
		return plan.Vec{Slot: -1}
	}
	return plan.Vec{Slot: b.out(op.Out[0]), Stride: stride}
}

func (b *builder) norm(op *ir.Op) *plan.Norm {
	return &plan.Norm{Weight: b.weight(op.W[0]), Eps: op.Eps}
}

// normPartial takes the NormPartial at the end of a part, if there is one. Its slots have the same names for
// every norm, so that layers share kernels.
func (b *builder) normPartial(ops *chain) *plan.NormPartial {
	op := ops.take(ir.NormPartial)
	if op == nil {
		return nil
	}
	return &plan.NormPartial{Weight: b.namedWeight(op.W[0], "w_next_norm"), Ready: b.out(op.Out[0]), Squares: b.out(op.Out[1]), Group: op.Group}
}

func (b *builder) normApply(op *ir.Op) *plan.NormApply {
	return &plan.NormApply{Squares: b.in(op.In[1].V), Count: op.In[1].Len, Eps: op.Eps}
}

// embed takes: embed [norm partial].
func (b *builder) embed(ops chain) plan.Part {
	op := ops.take(ir.Embed)
	b.needRow()
	return &plan.Embed{W: b.weight(op.W[0]), Scale: op.Scale, Out: b.vecOut(op, 0), Dim: op.Out[0].Len, RowsPerGroup: b.k.Threads, NormPartial: b.normPartial(&ops)}
}

func (b *builder) ropeAt(op *ir.Op) *plan.RopeAt {
	return &plan.RopeAt{Table: b.ropeTable(), HeadDim: op.In[0].Len, Dim: b.p.Spec.Model.QKRopeHeadDim}
}

func (b *builder) combine(op *ir.Op) *plan.Combine {
	b.needRow()
	return &plan.Combine{Out: b.in(op.In[0].V), ML: b.in(op.In[1].V), Heads: op.Heads,
		Splits: op.KVSplits()}
}

// matVec takes: [norm | norm apply | combine] mat-vec [mat-vec SwiGLU | squared ReLU | rope | head gates |
// [add] [norm partial]].
func (b *builder) matVec(ops chain) (plan.Part, error) {
	m := &plan.MatVec{Product: plan.Product{Up: -1, RowsPerGroup: b.rowsPerGroup(), SplitK: b.splitK(), Unroll: b.unroll(), Tokens: b.tokens}, Add: -1}
	norm, apply, combine := ops.take(ir.RMSNorm), ops.take(ir.NormApply), ops.take(ir.Combine)
	op := ops.take(ir.MatVec)
	row := &b.p.Weights[op.W[0].Row]
	m.W, m.Batch, m.Rows, m.Cols = b.weight(op.W[0]), op.Batch, row.Rows, row.Cols
	switch {
	case norm != nil:
		m.In, m.Norm = b.vec(norm.In[0]), b.norm(norm)
	case apply != nil:
		m.In, m.NormApply = b.vec(apply.In[0]), b.normApply(apply)
	case combine != nil:
		m.Combine = b.combine(combine)
		m.In = plan.Vec{Slot: m.Combine.Out}
	default:
		m.In = b.vec(op.In[0])
	}
	last, err := b.epilogue(m, op, &ops)
	if err != nil {
		return nil, err
	}
	m.Out = b.vecOut(last, row.Rows)
	if m.NormPartial = b.normPartial(&ops); m.NormPartial == nil && m.Up < 0 { // the groups of partial sums follow from the shape's rows
		m.RowsPerGroup = b.rowsOf(m.Rows)
	}
	return m, nil
}

// epilogue sets what the mat-vec m does to its results before it stores them, and returns the op that stores
// them. op is the mat-vec, ops are the ops after it.
func (b *builder) epilogue(m *plan.MatVec, op *ir.Op, ops *chain) (last *ir.Op, err error) {
	if up := ops.take(ir.MatVec); up != nil {
		m.Up = b.weight(up.W[0])
		m.RowsPerGroup = b.rowsOfTwo()
		last = ops.take(ir.SwiGLU)
		m.Limit = last.Limit
		return last, nil
	}
	if relu := ops.take(ir.SquaredReLU); relu != nil {
		m.SquaredReLU = true
		return relu, nil
	}
	if gate := ops.take(ir.GateHeads); gate != nil {
		v := b.vec(gate.In[1])
		m.HeadGate = &v
		return gate, nil
	}
	if rope := ops.take(ir.Rope); rope != nil {
		if rope.In[0].Off != 0 || rope.Heads*rope.In[0].Len != op.Out[0].Len {
			return nil, fmt.Errorf("rope covers only part of %s", op.Name)
		}
		m.Rope = b.ropeAt(rope)
		return rope, nil
	}
	if add := ops.take(ir.Add); add != nil {
		m.Add = b.in(other(add, op.Out[0]))
		return add, nil
	}
	return op, nil
}

// other returns the input of add that is not v.
func other(add *ir.Op, v *ir.Value) *ir.Value {
	if add.In[0].V == v {
		return add.In[1].V
	}
	return add.In[0].V
}

// experts takes: [norm | norm apply] [gating] experts [experts SwiGLU].
func (b *builder) experts(ops chain, tickets *ir.Value) plan.Part {
	norm, apply := ops.take(ir.RMSNorm), ops.take(ir.NormApply)
	e := &plan.Experts{Product: plan.Product{Up: -1, RowsPerGroup: b.rowsPerGroup(), SplitK: b.splitK(), Unroll: b.unroll()}}
	if len(ops) > 0 && ops[0].Kind == ir.Scores {
		e.Gating = b.gating(&ops)
	}
	op := ops.take(ir.ExpertsMatVec)
	row := &b.p.Weights[op.W[0].Row]
	e.W, e.K, e.Rows, e.Cols = b.weight(op.W[0]), op.K, row.Rows, row.Cols
	switch {
	case op.Grouped():
		e.Tokens, e.Shares = b.p.ExpertTokens(op.K), b.p.ExpertShares(op.K)
		e.Routing, e.Grouping = -1, b.grouping(b.in(op.In[1].V), b.in(op.In[2].V))
	case e.Gating != nil:
		e.Routing = b.out(op.In[1].V)
	default:
		e.Routing = b.in(op.In[1].V)
	}
	switch {
	case norm != nil:
		e.In, e.Norm = plan.Vec{Slot: b.in(norm.In[0].V), Offset: norm.In[0].Off}, b.norm(norm)
	case apply != nil:
		e.In, e.NormApply = plan.Vec{Slot: b.in(apply.In[0].V), Offset: apply.In[0].Off}, b.normApply(apply)
	default:
		e.In = b.vec(op.In[0])
	}
	last := op
	if up := ops.take(ir.ExpertsMatVec); up != nil {
		e.Up, e.RowsPerGroup, last = b.weight(up.W[0]), b.rowsOfTwo(), ops.take(ir.SwiGLU)
		e.Limit = last.Limit
	}
	e.Out = b.vecOut(last, row.Rows)
	if tickets != nil {
		e.Persistent = b.p.Target().ExpertsThreadgroups(e.Grouping.Entries(b.p.Width, e.Tokens) * e.Groups() / e.K)
		e.Tickets = b.tickets(tickets)
	}
	return e
}

// expertsSum takes: experts, weighted sum [shared mat-vec, add] [add] [norm partial].
func (b *builder) expertsSum(ops chain) plan.Part {
	op := ops.take(ir.ExpertsMatVec)
	sum := ops.take(ir.WeightedSum)
	row := &b.p.Weights[op.W[0].Row]
	e := &plan.ExpertsSum{W: b.weight(op.W[0]), K: op.K, Shared: -1, Add: -1,
		Product: plan.Product{Rows: row.Rows, Cols: row.Cols, RowsPerGroup: b.rowsPerGroup(), SplitK: b.splitK(), Unroll: b.unroll(), Up: -1, In: b.vec(op.In[0])}}
	e.Routing = b.in(op.In[1].V)
	last := sum
	if shared := ops.take(ir.MatVec); shared != nil {
		e.Shared, e.SharedCols, e.SharedIn = b.weight(shared.W[0]), b.p.Weights[shared.W[0].Row].Cols, b.vec(shared.In[0])
		last = ops.take(ir.Add)
	}
	if add := ops.take(ir.Add); add != nil {
		e.Add, last = b.in(other(add, last.Out[0])), add
	}
	e.Out = b.vecOut(last, 0)
	e.NormPartial = b.normPartial(&ops)
	return e
}

// weightedSum takes: weighted sum [add] [add] [norm partial].
func (b *builder) weightedSum(ops chain) plan.Part {
	op := ops.take(ir.WeightedSum)
	w := &plan.WeightedSum{In: plan.Vec{Slot: b.in(op.In[0].V), Stride: op.Out[0].Len}, K: op.K, Dim: op.Out[0].Len,
		Routing: b.in(op.In[1].V), RowsPerGroup: b.k.Threads}
	last := op
	for add := ops.take(ir.Add); add != nil; add = ops.take(ir.Add) {
		w.Add = append(w.Add, b.in(other(add, last.Out[0])))
		last = add
	}
	w.Out = b.vecOut(last, 0)
	w.NormPartial = b.normPartial(&ops)
	return w
}

// grouping returns a grouping by expert in two slots.
func (b *builder) grouping(starts, members int) *plan.Grouping {
	return &plan.Grouping{Starts: starts, Members: members, Experts: b.p.Spec.MoE.NRoutedExperts, K: b.p.Spec.MoE.NumExpertsPerTok}
}

// gating takes: scores, top-k, routing weights.
func (b *builder) gating(ops *chain) *plan.Gating {
	scores, top := ops.take(ir.Scores), ops.take(ir.TopK)
	ops.take(ir.RouteWeights)
	moe := b.p.Spec.MoE
	g := &plan.Gating{Logits: b.in(scores.In[0].V), Bias: -1, Experts: moe.NRoutedExperts, K: top.K,
		Sigmoid: moe.ScoringFunc == "sigmoid", Normalize: moe.NormTopKProb, Scale: moe.RoutedScalingFactor,
		Groups: max(moe.NGroup, 1), KGroups: max(moe.TopKGroup, 1)}
	if g.Scale == 0 {
		g.Scale = 1
	}
	if len(top.W) > 0 {
		g.Bias = b.weight(top.W[0])
	}
	return g
}

// storeKV takes: [norm] [rope] store.
func (b *builder) storeKV(ops chain) plan.Part {
	norm, rope := ops.take(ir.RMSNorm), ops.take(ir.Rope)
	op := ops.take(ir.StoreKV)
	s := &plan.StoreKV{LatDim: op.In[0].Len, PeDim: op.In[1].Len}
	if norm != nil {
		s.Lat, s.Norm = b.vec(norm.In[0]), b.norm(norm)
	} else {
		s.Lat = b.vec(op.In[0])
	}
	if rope != nil {
		s.KPe, s.Rope = b.vec(rope.In[0]), b.ropeAt(rope)
	} else {
		s.KPe = b.vec(op.In[1])
	}
	s.Cache = b.paged(b.out(op.Out[0]))
	return s
}

func (b *builder) attend(op *ir.Op) plan.Part {
	return &plan.Attend{QAbs: b.vec(op.In[0]), QPe: b.vec(op.In[1]), Heads: op.Heads, LatDim: op.In[0].Len, PeDim: op.In[1].Len,
		Scale: op.Scale, Temperature: op.Temperature, Cache: b.paged(b.in(op.In[2].V)), Out: b.out(op.Out[0]), ML: b.out(op.Out[1]),
		Splits: op.KVSplits()}
}

// WeightTable converts the compiler's weight rows to the plan's.
func WeightTable(rows []weights.Row) []plan.Weight {
	var table []plan.Weight
	for _, r := range rows {
		table = append(table, plan.Weight{Role: r.Role, GGUF: r.GGUF, Alt: r.Alt,
			Cols: r.Cols, Rows: r.Rows, Batch: r.Batch, First: r.First, Last: r.Last, Among: r.Among, HeadRows: r.HeadRows, RotaryRows: r.RotaryRows, Scale: r.Scale})
	}
	return table
}
