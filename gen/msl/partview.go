package msl

import (
	"cmp"
	"fmt"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// partView is the data of a part's template.
type partView struct {
	*kernelView
	P         plan.Part
	Product   *plan.Product // P as a product of weights and inputs; nil: it is none
	body      body
	First     int // first threadgroup
	Entries   int // heads or experts, each with threadgroups of its own
	N         int // rows per simdgroup
	Attention *attention
	Matrix    *matrixAttention // the form that attention takes; nil: the plain one
}

// singlesFirst puts the parts with a single threadgroup first. Such a threadgroup works through all its rows
// by itself, so it should start first, beside the others, and not when they are nearly done.
func singlesFirst(parts []plan.Part) []plan.Part {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b plan.Part) int { return cmp.Compare(min(a.Groups(), 2), min(b.Groups(), 2)) })
	return parts
}

// parts returns the views of the kernel's parts, and the largest threadgroup memory that a part needs, in
// floats. A threadgroup runs only one part, so the parts share the memory.
func (k *kernelView) parts() ([]partView, int, error) {
	var views []partView
	first, floats := 0, 0
	for _, p := range singlesFirst(k.Parts) {
		v, err := k.part(p, first)
		if err != nil {
			return nil, 0, err
		}
		first += k.GroupsOf(p)
		floats = max(floats, roundUp(v.floats(), 4)) // for loads of 16 bytes
		views = append(views, v)
	}
	if most := k.printer.target().Memory().Bytes; 4*floats > most {
		return nil, 0, fmt.Errorf("%d bytes of threadgroup memory; expected at most %d", 4*floats, most)
	}
	return views, floats, nil
}

func (k *kernelView) part(p plan.Part, first int) (partView, error) {
	v := partView{kernelView: k, P: p, Product: plan.ProductOf(p), First: first, Entries: 1}
	var err error
	if v.body, err = bodyOf(p); err != nil {
		return v, err
	}
	if v.body.view != nil {
		err = v.body.view(&v)
	}
	if k.Batched() {
		v.ofRow()
	}
	return v, err
}

// Even reports whether all simdgroups of all threadgroups of a mat-vec have the same number of rows. It is
// false for experts, where the condition of IfRows keeps the compiler from moving loads, which is faster.
func (v *partView) Even() bool {
	if _, ok := v.P.(*plan.MatVec); !ok {
		return false
	}
	rows, _ := matrix(v.P)
	return rows%v.Product.RowsPerGroup == 0 && v.Product.RowsPerGroup == v.N*(v.Simdgroups()/v.Slices())
}

// IfRows returns the condition that a simdgroup has rows; "" if all do.
func (v *partView) IfRows() string {
	if v.Even() {
		return ""
	}
	return "if (row < end) "
}

// Number returns the threadgroup's number within the part.
func (v *partView) Number() string {
	if v.First == 0 {
		return "tg"
	}
	return fmt.Sprintf("(tg - %du)", v.First)
}

// Group returns the threadgroup's number among the threadgroups of one row, or of one tile of rows.
func (v *partView) Group() string {
	switch n := v.P.Groups(); {
	case v.Shares() > 1:
		return fmt.Sprintf("(%s %% %du)", v.Number(), v.Entries*v.RowGroups())
	case v.Tiles() > 1:
		return fmt.Sprintf("(%s / %du)", v.Number(), v.Tiles())
	case v.Batched() && !v.BatchesRows() && n == 1:
		return "0u"
	case v.splitsFirst():
		return fmt.Sprintf("(%s / %du)", v.Number(), v.Width)
	case v.Batched() && !v.BatchesRows():
		return fmt.Sprintf("(%s %% %du)", v.Number(), n)
	}
	return v.Number()
}

// RowGroups returns the number of threadgroups per entry.
func (v *partView) RowGroups() int {
	if p, ok := v.P.(*plan.Experts); ok {
		return v.P.Groups() / p.K
	}
	return v.P.Groups() / v.Entries
}

// RowGroup returns the threadgroup's number within its entry.
func (v *partView) RowGroup() string {
	if v.Entries == 1 {
		return "g"
	}
	return fmt.Sprintf("(g %% %du)", v.RowGroups())
}

// Entry returns the threadgroup's entry.
func (v *partView) Entry() string {
	if _, ok := v.P.(*plan.CombineVec); ok || v.Entries > 1 {
		return "entry"
	}
	return "0u"
}

// WeightRow returns a pointer to a row of an entry of a weight matrix.
func (v *partView) WeightRow(slot int, entry, row string) (string, error) {
	_, cols := matrix(v.P)
	base := v.Name(slot)
	if v.Entries > 1 || entry != "entry" {
		stride, err := v.Stride(slot)
		if err != nil {
			return "", err
		}
		base += fmt.Sprintf(" + %s * %s", entry, stride)
	}
	return base + fmt.Sprintf(" + %s * %s::row_bytes(%du)", row, v.Tag(slot), cols), nil
}

// Stride returns the distance between two entries of a weight matrix in bytes.
func (v *partView) Stride(slot int) (string, error) {
	rows, cols := matrix(v.P)
	if i := slices.Index(v.Args, slot); i >= 0 {
		args, err := v.only(plan.SpaceArgs, "batch strides")
		return fmt.Sprintf("(%s.stride%d * %s::row_bytes(%du))", args, i, v.Tag(slot), cols), err
	}
	return fmt.Sprintf("(%du * %s::row_bytes(%du))", rows, v.Tag(slot), cols), nil
}

// Slices returns how many simdgroups share the columns of a row.
func (v *partView) Slices() int {
	if v.Product == nil {
		return 1
	}
	return max(v.Product.SplitK, 1)
}

// Lanes returns how many lanes share the columns of a row.
func (v *partView) Lanes() int { return simdWidth * v.Slices() }

// Lane returns a thread's number among these lanes.
func (v *partView) Lane() string {
	if v.Slices() > 1 {
		return "part"
	}
	return "lane"
}

// Unroll returns how many blocks of a row a lane has in flight. With several inputs there are fewer, because
// their elements take registers.
func (v *partView) Unroll() int {
	return max(1, cmp.Or(v.Product.Unroll, plan.DefaultUnroll)/v.Inputs())
}

// Normed reports whether the results must be multiplied by the factor of a norm.
func (v *partView) Normed() bool { return v.Product.Norm != nil || v.Product.NormApply != nil }

// SquaresPerLane returns how many partial sums of squares a lane adds.
func (v *partView) SquaresPerLane() int {
	return ceil(v.Product.NormApply.Count, v.SquaresLanes())
}

// SquaresLanes returns how many lanes share the partial sums of squares: all of the threadgroup if its
// simdgroups meet at a barrier anyway.
func (v *partView) SquaresLanes() int {
	if v.Slices() > 1 {
		return v.Threads
	}
	return simdWidth
}

// SquaresEarly reports whether a lane has registers to load these sums before the mat-vec and add them after
// it.
func (v *partView) SquaresEarly() bool { return v.SquaresPerLane()*v.Inputs() <= 16 }

// In returns the start of the input in device memory.
func (v *partView) In() string { return v.Ptr(v.input()) }

// input returns the part's input, and the entry of it that a threadgroup reads.
func (v *partView) input() (in plan.Vec, entry string) {
	if v.Entries > 1 {
		entry = "entry"
	}
	return v.Product.In, entry
}

// Combine returns the part's combine, or nil.
func (v *partView) Combine() *plan.Combine { return verify.CombineOf(v.P) }

// CombineDim returns the length of a combined vector.
func (v *partView) CombineDim() int {
	if p, ok := v.P.(*plan.CombineVec); ok {
		return p.Dim
	}
	_, cols := matrix(v.P)
	return cols
}

// Teams returns how many teams of threads combine.
func (v *partView) Teams() int { return teams(v.CombineDim(), v.Threads) }

// Merged returns where a combined vector is written.
func (v *partView) Merged() string {
	if p, ok := v.P.(*plan.CombineVec); ok {
		return v.Ptr(p.Out, "entry")
	}
	return "xs"
}

// At returns element i of entry e of a vector. e is ignored if the part has only one entry.
func (v *partView) At(vec plan.Vec, e, i string) string {
	if e == "entry" && v.Entries == 1 {
		e = ""
	}
	if stride := v.RowStride(vec.Slot); stride > 0 && v.BatchesRows() {
		i = fmt.Sprintf("batch_row * %du + %s", stride, i)
	}
	return v.kernelView.At(vec, e, i)
}

// ScoreScale returns the factor on the scores of the query at a position.
func (v *partView) ScoreScale(pos string) (string, error) {
	p, ok := v.P.(*plan.Attend)
	if !ok {
		return "", fmt.Errorf("scores of a part of type %T", v.P)
	}
	scale, t := v.Float(p.Scale), p.Temperature
	if t.Scale == 0 {
		return scale, nil
	}
	return fmt.Sprintf("%s * fma(%s, log(float(%s / %du + 1u)), 1.0f)", scale, v.Float(t.Scale), pos, t.Length), nil
}

// EmbedScale returns the factor on an embedding row with its operator; "" for none.
func (v *partView) EmbedScale() string {
	if p, ok := v.P.(*plan.Embed); ok && p.Scale != 0 {
		return v.Float(p.Scale) + " * "
	}
	return ""
}

// Afresh reports whether a thread computes its indices again in each turn of a loop. A compiler would
// otherwise keep the indices of all turns in registers. A shuffle that returns a lane's own number hides from
// the compiler that they are constant.
func (v *partView) Afresh() bool { return v.parts() }
