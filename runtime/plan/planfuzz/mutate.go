package planfuzz

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Mutate changes something in a bundle at random, and says what. If the bundle has nothing of the drawn kind,
// it stays unchanged.
func Mutate(rng *rand.Rand, b *plan.Bundle) string {
	m := mutator{rng, b}
	all := sequences(b)
	if len(all) == 0 || len(b.Kernels) == 0 {
		return m.anyNumber()
	}
	q := all[rng.IntN(len(all))]
	d := &(*q)[rng.IntN(len(*q))]
	if len(d.Operands) == 0 || d.Kernel < 0 || d.Kernel >= len(b.Kernels) {
		return m.anyNumber()
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := rng.IntN(total)
	for _, k := range kinds {
		if n -= k.weight; n < 0 {
			return k.change(&m, q, d)
		}
	}
	return ""
}

// mutator draws random changes of a bundle.
type mutator struct {
	rng *rand.Rand
	b   *plan.Bundle
}

// kinds is the changes and their relative frequencies.
var kinds = []struct {
	weight int
	change func(m *mutator, q *[]plan.Dispatch, d *plan.Dispatch) string
}{
	{2, func(m *mutator, _ *[]plan.Dispatch, _ *plan.Dispatch) string { return m.anyNumber() }},
	{4, (*mutator).oneSize},
	{2, (*mutator).extent},
	{1, (*mutator).foreignOperand},
	{1, (*mutator).swappedOperands},
	{1, (*mutator).order},
	{1, (*mutator).factor},
	{1, (*mutator).slot},
	{1, (*mutator).mark},
	{1, (*mutator).neighbour},
	{1, (*mutator).weightTable},
	{1, func(_ *mutator, _ *[]plan.Dispatch, d *plan.Dispatch) string {
		d.Barrier = !d.Barrier
		return "barrier"
	}},
	{1, func(m *mutator, _ *[]plan.Dispatch, d *plan.Dispatch) string {
		d.Layer = m.rng.IntN(max(m.b.Model.NumHiddenLayers, 0)%1000+1) - 1
		return "layer"
	}},
}

// sizes is the values that numbers are set to, beside nearby ones.
var sizes = []int64{0, 1, 2, 3, 4, 8, 16, 32, 64, 96, 128, 256, 512, 1024, 4096, 1 << 16, 1 << 20, 1 << 24, 1 << 30, 1 << 40, -1, -1 << 62, 1<<63 - 1}

// steps is the differences to nearby values.
var steps = []int64{-1024, -256, -64, -32, -16, -8, -4, -2, -1, 1, 2, 4, 8, 16, 32, 64, 256, 1024}

// number returns a number near old, or one of sizes.
func (m *mutator) number(old int64) int64 {
	switch m.rng.IntN(4) {
	case 0:
		return old + steps[m.rng.IntN(len(steps))]
	case 1:
		return old * int64(2+m.rng.IntN(3))
	case 2:
		return old / int64(2+m.rng.IntN(3))
	}
	return sizes[m.rng.IntN(len(sizes))]
}

// oneSize changes a number to the same new value everywhere in a kernel, or in the whole bundle.
func (m *mutator) oneSize(_ *[]plan.Dispatch, d *plan.Dispatch) string {
	scope := reflect.ValueOf(&m.b.Kernels[d.Kernel])
	if m.rng.IntN(3) == 0 {
		scope = reflect.ValueOf(m.b)
	}
	var all []reflect.Value
	numbers(scope, func(v reflect.Value) {
		if v.Int() > 1 {
			all = append(all, v)
		}
	})
	if len(all) == 0 {
		return ""
	}
	old := all[m.rng.IntN(len(all))].Int()
	to := m.number(old)
	for _, v := range all {
		if v.Int() == old {
			v.SetInt(to)
		}
	}
	return fmt.Sprintf("%d becomes %d", old, to)
}

// extent moves an operand or changes its length.
func (m *mutator) extent(_ *[]plan.Dispatch, d *plan.Dispatch) string {
	o := &d.Operands[m.rng.IntN(len(d.Operands))]
	if m.rng.IntN(2) == 0 {
		o.Offset += int64(16 * (m.rng.IntN(65) - 32))
		return "offset"
	}
	o.Bytes = m.number(o.Bytes)
	return "length"
}

// foreignOperand takes an operand of the same space from anywhere in the bundle.
func (m *mutator) foreignOperand(_ *[]plan.Dispatch, d *plan.Dispatch) string {
	o := &d.Operands[m.rng.IntN(len(d.Operands))]
	var fit []plan.Operand
	for _, q := range sequences(m.b) {
		for i := range *q {
			for _, other := range (*q)[i].Operands {
				if other.Space == o.Space {
					fit = append(fit, other)
				}
			}
		}
	}
	*o = fit[m.rng.IntN(len(fit))]
	return "operand of another dispatch"
}

func (m *mutator) swappedOperands(_ *[]plan.Dispatch, d *plan.Dispatch) string {
	i, j := m.rng.IntN(len(d.Operands)), m.rng.IntN(len(d.Operands))
	d.Operands[i], d.Operands[j] = d.Operands[j], d.Operands[i]
	return "operands swapped"
}

// order removes, repeats or reorders dispatches.
func (m *mutator) order(q *[]plan.Dispatch, _ *plan.Dispatch) string {
	i, j := m.rng.IntN(len(*q)), m.rng.IntN(len(*q))
	switch m.rng.IntN(4) {
	case 0:
		(*q)[i], (*q)[j] = (*q)[j], (*q)[i]
	case 1:
		*q = slices.Insert(slices.Clone(*q), i, (*q)[j])
	case 2:
		*q = slices.Delete(slices.Clone(*q), i, i+1)
	default:
		(*q)[i].Kernel = (*q)[j].Kernel
	}
	return "order of dispatches"
}

// factor halves one number of a kernel and doubles another one, so that their product stays the same.
func (m *mutator) factor(_ *[]plan.Dispatch, d *plan.Dispatch) string {
	var all []reflect.Value
	numbers(reflect.ValueOf(&m.b.Kernels[d.Kernel]), func(v reflect.Value) { all = append(all, v) })
	if len(all) == 0 {
		return ""
	}
	from, to := all[m.rng.IntN(len(all))], all[m.rng.IntN(len(all))]
	if from.Int()%2 == 0 {
		from.SetInt(from.Int() / 2)
		to.SetInt(to.Int() * 2)
	}
	return "factor"
}

// slot binds a part to another slot of its kernel.
func (m *mutator) slot(_ *[]plan.Dispatch, d *plan.Dispatch) string {
	k := &m.b.Kernels[d.Kernel]
	var all []reflect.Value
	for _, p := range k.Parts {
		numbers(reflect.ValueOf(p), func(v reflect.Value) {
			if v.Int() >= -1 && v.Int() < int64(len(k.Slots)) {
				all = append(all, v)
			}
		})
	}
	if len(all) == 0 {
		return ""
	}
	all[m.rng.IntN(len(all))].SetInt(int64(m.rng.IntN(len(k.Slots)+1) - 1))
	return "slot"
}

// mark toggles whether a slot is marked as written.
func (m *mutator) mark(_ *[]plan.Dispatch, d *plan.Dispatch) string {
	k := &m.b.Kernels[d.Kernel]
	if len(k.Slots) == 0 {
		return ""
	}
	s := &k.Slots[m.rng.IntN(len(k.Slots))]
	s.Write = !s.Write
	return "mark of slot " + s.Name
}

// neighbour adds a part of another kernel to a kernel.
func (m *mutator) neighbour(_ *[]plan.Dispatch, d *plan.Dispatch) string {
	k, other := &m.b.Kernels[d.Kernel], &m.b.Kernels[m.rng.IntN(len(m.b.Kernels))]
	if len(other.Parts) == 0 {
		return ""
	}
	p := other.Parts[m.rng.IntN(len(other.Parts))]
	k.Parts = slices.Insert(slices.Clone(k.Parts), m.rng.IntN(len(k.Parts)+1), p)
	return fmt.Sprintf("a %T beside others", p)
}

// weightTable changes a row of the table of weights.
func (m *mutator) weightTable(_ *[]plan.Dispatch, _ *plan.Dispatch) string {
	w := m.b.Weights
	if len(w) == 0 {
		return ""
	}
	i, j := m.rng.IntN(len(w)), m.rng.IntN(len(w))
	switch m.rng.IntN(3) {
	case 0:
		w[i].GGUF, w[j].GGUF = w[j].GGUF, w[i].GGUF
	case 1:
		w[i] = w[j]
	default:
		w[i].Types = append(slices.Clone(w[i].Types), quant.Type(m.rng.IntN(40)))
	}
	return "table of weights"
}

// anyNumber descends from the bundle at random to a number, a flag or a list, and changes it.
func (m *mutator) anyNumber() string {
	for range 1000 {
		if path, ok := m.descend(reflect.ValueOf(m.b).Elem(), ""); ok {
			return path
		}
	}
	return ""
}

func (m *mutator) descend(v reflect.Value, path string) (string, bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "", false
		}
		if v.Kind() == reflect.Pointer && v.CanSet() && m.rng.IntN(20) == 0 {
			v.SetZero()
			return path + " is left out", true
		}
		return m.descend(v.Elem(), path)
	case reflect.Struct:
		i := m.rng.IntN(v.NumField())
		return m.descend(v.Field(i), path+"."+v.Type().Field(i).Name)
	case reflect.Slice:
		if v.Len() == 0 {
			return "", false
		}
		i := m.rng.IntN(v.Len())
		switch m.rng.IntN(30) {
		case 0:
			v.Set(reflect.AppendSlice(v.Slice(0, i), v.Slice(i+1, v.Len())))
			return fmt.Sprintf("%s without %d", path, i), true
		case 1:
			v.Index(i).Set(v.Index(m.rng.IntN(v.Len())))
			return fmt.Sprintf("%s[%d] is another one", path, i), true
		}
		return m.descend(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(m.number(v.Int()))
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(m.rng.IntN(40)))
	default:
		return "", false
	}
	return fmt.Sprintf("%s = %v", path, v), true
}
