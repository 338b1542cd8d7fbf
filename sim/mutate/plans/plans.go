// Package plans lists mistakes that a compiled plan could have, one at a time: a
// barrier left out, two operands swapped, a wrong layer. A mutation changes the
// data of a bound model in place, and nothing else.
package plans

import (
	"fmt"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Mutation is one mistake.
type Mutation struct {
	// ID is KIND/PLACE, unique within the model.
	ID string
	// Apply makes the mistake.
	Apply func()
	// Sampler mutations are in what picks the next token.
	Sampler bool
	// Deep mutations show only when the cache is so long that every attention
	// split is in use.
	Deep bool
}

// kinds lists what can go wrong, in the order of the issues' lists.
var kinds = []func(*list){barriers, swaps, offsets, misaligned, layers, caches, variants, groups, threads, strides, shifts}

// List lists all mutations of a model with a cache of type kv.
func List(m *device.Model, kv quant.Type) []Mutation {
	l := &list{Model: m, kv: kv}
	for _, kind := range kinds {
		kind(l)
	}
	return l.all
}

type list struct {
	*device.Model
	kv      quant.Type
	sampler bool // the dispatches visited are the sampler's
	all     []Mutation
}

func (l *list) add(id string, apply func()) {
	l.all = append(l.all, Mutation{ID: id, Apply: apply, Sampler: l.sampler})
}

// each visits the dispatches; place names one.
func (l *list) each(f func(place string, d *plan.Dispatch, k *plan.Kernel)) {
	at := 0
	for n, part := range [][]plan.Dispatch{l.Bundle.Decode().Dispatches, l.Bundle.Pick} {
		l.sampler = n > 0
		for i := range part {
			d := &part[i]
			k := &l.Bundle.Kernels[d.Kernel]
			f(fmt.Sprintf("%d-%s", at, k.Name), d, k)
			at++
		}
	}
}

// used visits the kernels that the sequence launches.
func (l *list) used(f func(k *plan.Kernel)) {
	seen := map[*plan.Kernel]bool{}
	l.each(func(_ string, _ *plan.Dispatch, k *plan.Kernel) {
		if !seen[k] {
			seen[k] = true
			f(k)
		}
	})
}

// barriers leaves out each barrier in turn.
func barriers(l *list) {
	l.each(func(place string, d *plan.Dispatch, _ *plan.Kernel) {
		if d.Barrier {
			l.add("barrier/"+place, func() { d.Barrier = false })
		}
	})
}

// swaps exchanges two operands of one space.
func swaps(l *list) {
	l.each(func(place string, d *plan.Dispatch, k *plan.Kernel) {
		for b := range d.Operands {
			for a := range b {
				x, y := &d.Operands[a], &d.Operands[b]
				if x.Space == y.Space && *x != *y {
					l.add(fmt.Sprintf("swap/%s/%s,%s", place, k.Slots[a].Name, k.Slots[b].Name), func() { *x, *y = *y, *x })
				}
			}
		}
	})
}

// step is how far offsets are moved: a multiple of every alignment.
const step = 256

// offsets moves an activation within the arena, and an array of a sampler onto
// the one before it: memory that nothing else uses may follow it.
func offsets(l *list) {
	l.operands(plan.SpaceArena, func(place string, d *plan.Dispatch, slot int) {
		op := &d.Operands[slot]
		switch {
		case op.Offset+op.Bytes+step <= l.Bundle.Decode().ArenaBytes:
			l.add("offset/"+place, func() { op.Offset += step })
		case op.Offset >= step:
			l.add("offset/"+place, func() { op.Offset -= step })
		}
	})
	l.operands(plan.SpacePick, func(place string, d *plan.Dispatch, slot int) {
		if slot > 0 && d.Operands[slot-1].Space == plan.SpacePick {
			l.add("offset/"+place, func() { d.Operands[slot].Offset = d.Operands[slot-1].Offset })
		}
	})
}

// misaligned moves either by less than the widest load.
func misaligned(l *list) {
	for _, space := range []plan.Space{plan.SpaceArena, plan.SpacePick} {
		l.operands(space, func(place string, d *plan.Dispatch, slot int) {
			if op := &d.Operands[slot]; op.Offset > 0 {
				l.add("misalign/"+place, func() { op.Offset -= 2 })
			}
		})
	}
}

// operands visits all operands in a space.
func (l *list) operands(s plan.Space, f func(place string, d *plan.Dispatch, slot int)) {
	l.each(func(place string, d *plan.Dispatch, k *plan.Kernel) {
		for slot := range d.Operands {
			if d.Operands[slot].Space == s {
				f(place+"/"+k.Slots[slot].Name, d, slot)
			}
		}
	})
}

// layers takes the weights of the layer before.
func layers(l *list) {
	l.each(func(place string, d *plan.Dispatch, _ *plan.Kernel) {
		weights := 0
		for _, op := range d.Operands {
			if op.Space != plan.SpaceWeight {
				continue
			}
			if _, err := l.Lookup(op.Index, d.Layer-1); err != nil {
				return
			}
			weights++
		}
		if d.Layer > 0 && weights > 0 {
			l.add("layer/"+place, func() { d.Layer-- })
		}
	})
}

// caches takes the cache of the next layer.
func caches(l *list) {
	l.operands(plan.SpaceKV, func(place string, d *plan.Dispatch, slot int) {
		op := &d.Operands[slot]
		l.add("cache/"+place, func() { op.Index = (op.Index + 1) % l.Bundle.Model.NumHiddenLayers })
	})
}

// variants takes the instantiation of a kernel for other types.
func variants(l *list) {
	seen := map[*plan.Variant]bool{}
	l.each(func(_ string, d *plan.Dispatch, k *plan.Kernel) {
		v, err := l.Variant(d, l.kv)
		if err != nil || seen[v] {
			return
		}
		seen[v] = true
		for i := range k.Variants {
			if other := k.Variants[i].Func; other != v.Func {
				l.add("variant/"+v.Func+"/"+other, func() { v.Func = other })
			}
		}
	})
}

// fewer is a part that gets one threadgroup less than it needs.
type fewer struct{ plan.Part }

func (p fewer) Groups() int { return p.Part.Groups() - 1 }

// groups launches a kernel without its last threadgroup. Attention has a
// threadgroup per split, and the last one has rows only in long caches.
func groups(l *list) {
	l.used(func(k *plan.Kernel) {
		last := len(k.Parts) - 1
		if k.Groups() < 2 {
			return
		}
		_, deep := k.Parts[last].(*plan.Attend)
		l.add("groups/"+k.Name, func() { k.Parts[last] = fewer{k.Parts[last]} })
		l.all[len(l.all)-1].Deep = deep
	})
}

// threads halves a kernel's threadgroups.
func threads(l *list) {
	l.used(func(k *plan.Kernel) {
		if k.Threads >= 64 {
			l.add("threads/"+k.Name, func() { k.Threads /= 2 })
		}
	})
}

// shift is how far weights are moved, in bytes: a multiple of what they are
// aligned to, and of no block's size.
const shift = 32

// strides moves heads or experts apart.
func strides(l *list) {
	l.sampler = false
	l.bound(func(place string, row *plan.Weight, w *device.Weight) {
		if row.Batch > 1 {
			l.add("stride/"+place, func() { w.BatchStride -= shift })
		}
	})
}

// shifts moves a weight within its file.
func shifts(l *list) {
	l.bound(func(place string, _ *plan.Weight, w *device.Weight) {
		l.add("shift/"+place, func() { w.Offset -= shift })
	})
}

// bound visits all tensors.
func (l *list) bound(f func(place string, row *plan.Weight, w *device.Weight)) {
	for i := range l.Weights {
		for n := range l.Weights[i] {
			w := &l.Weights[i][n]
			f(w.Tensor+"/"+l.Bundle.Weights[i].Role, &l.Bundle.Weights[i], w)
		}
	}
}
