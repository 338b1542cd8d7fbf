package bind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Mismatch is one thing in which a file differs from what a bundle was
// compiled for.
type Mismatch struct {
	What            string // a hyper-parameter or a tensor with its role
	Found, Expected string
	More            int  // further layers in which the same is wrong
	Types           bool // only quantisation types differ

	subject string // the hyper-parameter, the role or the kernel, without the layer
}

// String is the mismatch in one line.
func (m Mismatch) String() string {
	s := fmt.Sprintf("%s: found %s, expected %s", m.What, m.Found, m.Expected)
	if m.More > 0 {
		s += fmt.Sprintf(" (the same in %d more)", m.More)
	}
	return s
}

// header is what the fit of a file depends on, read once for all bundles.
type header struct {
	f          *gguf.File
	h          gguf.HParams
	err        error              // of h
	factors    device.RopeFactors // of rotary frequencies
	badFactors *Mismatch
}

// look reads the header of f.
func look(f *gguf.File) *header {
	h := &header{f: f}
	h.h, h.err = gguf.ReadHParams(f)
	if h.err == nil {
		h.factors, h.badFactors = ropeFactors(f, &h.h)
	}
	return h
}

// Fit lists everything in which f differs from what b was compiled for:
// hyper-parameters by their Hugging Face names, then tensors in the order of
// the weight table. It is empty if b can run f.
func Fit(f *gguf.File, b *plan.Bundle) []Mismatch { return look(f).fit(b) }

func (h *header) fit(b *plan.Bundle) []Mismatch {
	f, out := h.f, h.hyperParameters(b)
	types := make([][]quant.Type, len(b.Weights))
	missing := len(out)
	for i := range b.Weights {
		w := &b.Weights[i]
		var row []Mismatch
		for l := range layers(w) {
			src, bad := find(f, b, w, l)
			if bad != nil {
				bad.subject = w.Role
				row = merge(row, *bad)
				continue
			}
			types[i] = append(types[i], src.typ)
		}
		out = append(out, row...)
	}
	if h.badFactors != nil {
		out = append(out, *h.badFactors)
	}
	for i := range b.Joined {
		if _, bad := find(f, b, &b.Joined[i], 0); bad != nil {
			out = append(out, *bad)
		}
	}
	out = append(out, h.unexpectedTensors(b)...)
	if len(out) == missing { // every weight is there: look at them together
		out = append(out, combinations(b, types)...)
	}
	return out
}

// merge adds a mismatch of one more layer of a row, counting repetitions.
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

// unexpectedTensors lists tensors in the model's layers that the bundle never reads:
// computing without them would give other numbers than the file's author meant.
// Blocks behind the last layer are of layers that predict, which have bundles of their
// own; to such a bundle, all but its block is of the model.
func (h *header) unexpectedTensors(b *plan.Bundle) []Mismatch {
	f, known := h.f, map[string]bool{}
	for _, name := range gguf.ArchitectureOf(h.h.Architecture).Besides {
		known[name] = true
	}
	all := slices.Concat(b.Weights, b.Joined)
	for i := range all {
		w := &all[i]
		for l := range layers(w) {
			known[layerName(w.GGUF, w, l)] = true
			if w.Alt != "" {
				known[layerName(w.Alt, w, l)] = true
			}
		}
	}
	var out []Mismatch
	at := map[string]int{} // index in out, by name without the layer
	for i := range f.Tensors {
		name := f.Tensors[i].Name
		block, in := blockOf(name)
		if known[name] || in && b.Model.NextN == 0 && block >= b.Model.NumHiddenLayers || b.Model.NextN > 0 && block != b.Model.NextN {
			continue
		}
		pattern := name
		if in {
			pattern = strings.Replace(name, strconv.Itoa(block), "%d", 1)
		}
		if j, seen := at[pattern]; seen {
			out[j].More++
			continue
		}
		at[pattern] = len(out)
		out = append(out, Mismatch{What: fmt.Sprintf("tensor %q", name), Found: "a tensor that no kernel reads", Expected: "none", subject: pattern})
	}
	return out
}

// blockOf is N for a tensor called blk.N.something.
func blockOf(name string) (int, bool) {
	rest, ok := strings.CutPrefix(name, "blk.")
	if !ok {
		return 0, false
	}
	number, _, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	return n, ok && err == nil
}

// combinations lists the dispatches that read several weights for whose types
// together the kernel has no variant. types holds one type per layer and row.
func combinations(b *plan.Bundle, types [][]quant.Type) []Mismatch {
	var out []Mismatch
	for i := range b.Decode().Dispatches {
		d := &b.Decode().Dispatches[i]
		k := &b.Kernels[d.Kernel]
		if want := weightTypes(b, d, k, types); !hasVariant(k, want) {
			out = merge(out, Mismatch{
				subject: k.Name,
				What:    fmt.Sprintf("kernel %s in layer %d", k.Name, d.Layer),
				Found:   "weight types " + slotTypes(k, want), Expected: "one of its compiled combinations", Types: true,
			})
		}
	}
	return out
}

// weightTypes gives the types of the typed weights of a dispatch by slot.
func weightTypes(b *plan.Bundle, d *plan.Dispatch, k *plan.Kernel, types [][]quant.Type) map[int]quant.Type {
	out := map[int]quant.Type{}
	for _, slot := range k.TypedSlots() {
		op := d.Operands[slot]
		if op.Space != plan.SpaceWeight {
			continue
		}
		layer := 0
		if first := b.Weights[op.Index].First; first >= 0 {
			layer = d.LayerOf(slot) - first
		}
		out[slot] = types[op.Index][layer]
	}
	return out
}

func hasVariant(k *plan.Kernel, want map[int]quant.Type) bool {
	if len(want) == 0 {
		return true
	}
	slots := k.TypedSlots()
	return slices.ContainsFunc(k.Variants, func(v plan.Variant) bool {
		for i, slot := range slots {
			if t, is := want[slot]; is && v.Types[i] != t {
				return false
			}
		}
		return true
	})
}

// subject names a tensor and its role for messages.
func subject(tensor string, w *plan.Weight) string {
	return fmt.Sprintf("tensor %q (%s)", tensor, w.Role)
}

func slotTypes(k *plan.Kernel, types map[int]quant.Type) string {
	var list []string
	for slot := range k.Slots {
		if t, ok := types[slot]; ok {
			list = append(list, k.Slots[slot].Name+" "+typeName(t))
		}
	}
	return strings.Join(list, ", ")
}

// typeName is the name that file types carry, such as Q4_K.
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

// dims writes dimensions as [2048, 512].
func dims(d []int) string { return strings.ReplaceAll(fmt.Sprint(d), " ", ", ") }
