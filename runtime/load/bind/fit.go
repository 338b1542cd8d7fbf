package bind

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Mismatch is one difference between a file and what a bundle was compiled for.
type Mismatch struct {
	What            string // a hyper-parameter, or a tensor with its role
	Found, Expected string
	More            int  // number of further layers with the same difference
	Types           bool // only quantisation types differ

	subject string // the hyper-parameter, the role or the kernel, without the layer
}

// String describes the mismatch in one line.
func (m Mismatch) String() string {
	s := fmt.Sprintf("%s: found %s, expected %s", m.What, m.Found, m.Expected)
	if m.More > 0 {
		s += fmt.Sprintf(" (the same in %d more)", m.More)
	}
	return s
}

// merge appends the mismatch of a further layer, or counts it as a repetition.
func merge(row []Mismatch, m Mismatch) []Mismatch {
	i := slices.IndexFunc(row, func(have Mismatch) bool {
		return have.subject == m.subject && have.Found == m.Found && have.Expected == m.Expected
	})
	if i < 0 {
		return append(row, m)
	}
	row[i].More++
	return row
}

// blockOf is the number N in the name of a tensor blk.N.something.
func blockOf(name string) (int, bool) {
	rest, ok := strings.CutPrefix(name, "blk.")
	if !ok {
		return 0, false
	}
	number, _, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	return n, ok && err == nil
}

// combinations lists the dispatches whose kernel has no variant for the combination of its weights' types.
// types has one type per weight and layer.
func combinations(b *plan.Bundle, types [][]quant.Type) []Mismatch {
	var out []Mismatch
	has := map[string]bool{} // by kernel and types
	slots := make([][]int, len(b.Kernels))
	var key []byte
	var want []slotType
	for i := range b.Decode().Dispatches {
		d := &b.Decode().Dispatches[i]
		k := &b.Kernels[d.Kernel]
		if slots[d.Kernel] == nil {
			slots[d.Kernel] = k.TypedSlots()
		}
		want = weightTypes(want[:0], b, d, slots[d.Kernel], types)
		key = binary.LittleEndian.AppendUint32(key[:0], uint32(d.Kernel))
		for _, t := range want {
			key = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(key, uint32(t.slot)), uint32(t.typ))
		}
		covered, known := has[string(key)]
		if !known {
			covered = hasVariant(k, want)
			has[string(key)] = covered
		}
		if !covered {
			out = merge(out, Mismatch{
				subject: k.Name,
				What:    fmt.Sprintf("kernel %s in layer %d", k.Name, d.Layer),
				Found:   "weight types " + slotTypes(k, want), Expected: "one of its compiled combinations", Types: true,
			})
		}
	}
	return out
}

// slotType is a typed slot of a kernel and the type of the weight that is bound to it.
type slotType struct {
	n, slot int
	typ     quant.Type
}

// weightTypes appends the types of the weights that a dispatch reads in the typed slots of its kernel, in
// order.
func weightTypes(out []slotType, b *plan.Bundle, d *plan.Dispatch, slots []int, types [][]quant.Type) []slotType {
	for n, slot := range slots {
		op := d.Operands[slot]
		if op.Space != plan.SpaceWeight {
			continue
		}
		out = append(out, slotType{n, slot, types[op.Index][b.Weights[op.Index].Index(d.LayerOf(slot))]})
	}
	return out
}

func hasVariant(k *plan.Kernel, want []slotType) bool {
	if len(want) == 0 {
		return true
	}
	return slices.ContainsFunc(k.Variants, func(v plan.Variant) bool {
		return !slices.ContainsFunc(want, func(t slotType) bool { return v.Types[t.n] != t.typ })
	})
}

// subject names a tensor and its role in messages.
func subject(tensor string, w *plan.Weight) string {
	return fmt.Sprintf("tensor %q (%s)", tensor, w.Role)
}

func slotTypes(k *plan.Kernel, types []slotType) string {
	var list []string
	for _, t := range types {
		list = append(list, k.Slots[t.slot].Name+" "+typeName(t.typ))
	}
	return strings.Join(list, ", ")
}

// typeName is the name of a type in file names, such as Q4_K.
func typeName(t quant.Type) string {
	if _, known := quant.Lookup(t); !known {
		return strings.ToUpper(t.String()) + ", which this program does not run"
	}
	return strings.ToUpper(t.String())
}

func typeNames(types []quant.Type) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = typeName(t)
	}
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}

// dims formats dimensions as [2048, 512].
func dims(d []int) string { return strings.ReplaceAll(fmt.Sprint(d), " ", ", ") }

// Fit lists all differences between the file and what b was compiled for: hyper-parameters with their Hugging
// Face names, then tensors in the order of the weight table. It is empty if b can run the file.
func (r *Resolved) Fit(b *plan.Bundle) []Mismatch {
	bad, known := r.fits[b]
	if !known {
		bad = r.fit(b)
		r.fits[b] = bad
	}
	return bad
}

// fitting says whether b can run the file.
func (r *Resolved) fitting(b *plan.Bundle) bool {
	return !r.otherSizes(b) && len(r.Fit(b)) == 0
}

func (r *Resolved) fit(b *plan.Bundle) []Mismatch {
	out, t := r.hyperParameters(b), r.table(b)
	before := len(out)
	out = append(out, t.bad...)
	if r.badFactors != nil {
		out = append(out, *r.badFactors)
	}
	out = append(out, t.besides...)
	if len(out) == before { // all weights exist, so their combinations can be compared
		out = append(out, combinations(b, t.types)...)
	}
	return out
}
