// Package plans lists mutations of a compiled plan, each with one mistake: a barrier left out, two operands
// swapped, a wrong layer. A mutation changes the data of a bound model in place.
package plans

import (
	"fmt"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Mutation is one mistake in a plan.
type Mutation struct {
	// ID is KIND/PLACE, unique within the model.
	ID string
	// Apply makes the mistake.
	Apply func()
	// Sampler is set for mistakes in the dispatches of the sampler.
	Sampler bool
	// Deep is set for mistakes that change results only when the cache is long enough to use every attention
	// split.
	Deep bool
}

// kinds lists the generators of mutations, in the order of the list.
var kinds = []func(*list){barriers, swaps, offsets, misaligned, layers, caches, variants, groups, threads, strides, shifts}

// List lists all mutations of a model with a cache of element type kv.
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
	sampler bool // set while the sampler's dispatches are visited
	all     []Mutation
}

func (l *list) add(id string, apply func()) {
	l.all = append(l.all, Mutation{ID: id, Apply: apply, Sampler: l.sampler})
}

// each calls f for every dispatch and its kernel. place names the dispatch in IDs.
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

// used calls f for every kernel that the sequence launches.
func (l *list) used(f func(k *plan.Kernel)) {
	seen := map[*plan.Kernel]bool{}
	l.each(func(_ string, _ *plan.Dispatch, k *plan.Kernel) {
		if !seen[k] {
			seen[k] = true
			f(k)
		}
	})
}

// barriers removes each barrier in turn.
func barriers(l *list) {
	l.each(func(place string, d *plan.Dispatch, _ *plan.Kernel) {
		if d.Barrier {
			l.add("barrier/"+place, func() { d.Barrier = false })
		}
	})
}

// swaps exchanges two operands in the same memory space.
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

// step is the distance in bytes that offsets are moved: a multiple of every alignment.
const step = 256

// offsets moves one activation within the arena, or one array of a sampler to the place of the array before
// it. Samplers' arrays are not moved up, because unused memory may follow them, and the mistake would change
// nothing.
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

// misaligned moves an activation or an array of a sampler by less than the widest load.
func misaligned(l *list) {
	for _, space := range []plan.Space{plan.SpaceArena, plan.SpacePick} {
		l.operands(space, func(place string, d *plan.Dispatch, slot int) {
			if op := &d.Operands[slot]; op.Offset > 0 {
				l.add("misalign/"+place, func() { op.Offset -= 2 })
			}
		})
	}
}

// operands calls f for every operand in a memory space.
func (l *list) operands(s plan.Space, f func(place string, d *plan.Dispatch, slot int)) {
	l.each(func(place string, d *plan.Dispatch, k *plan.Kernel) {
		for slot := range d.Operands {
			if d.Operands[slot].Space == s {
				f(place+"/"+k.Slots[slot].Name, d, slot)
			}
		}
	})
}

// layers replaces the weights of a layer by the weights of the layer before.
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

// caches replaces the cache of a layer by the cache of the next one.
func caches(l *list) {
	l.operands(plan.SpaceKV, func(place string, d *plan.Dispatch, slot int) {
		op := &d.Operands[slot]
		l.add("cache/"+place, func() { op.Index = (op.Index + 1) % l.Bundle.Model.NumHiddenLayers })
	})
}

// variants replaces the instantiation of a kernel by the one for other types.
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

// fewer is a grid with one threadgroup less than it needs.
type fewer struct{ plan.Part }

func (p fewer) Groups() int { return p.Part.Groups() - 1 }

// groups launches a kernel without its last threadgroup. These mutations of attention are Deep: the last
// threadgroup of a split has rows only in a long cache.
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

// threads halves the threads per threadgroup of a kernel.
func threads(l *list) {
	l.used(func(k *plan.Kernel) {
		if k.Threads >= 64 {
			l.add("threads/"+k.Name, func() { k.Threads /= 2 })
		}
	})
}

// shift is the distance in bytes that weights are moved: a multiple of their alignment, but of no quant
// block's size.
const shift = 32

// strides changes the distance between heads or experts.
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

// bound calls f for every bound tensor.
func (l *list) bound(f func(place string, row *plan.Weight, w *device.Weight)) {
	for i := range l.Weights {
		for n := range l.Weights[i] {
			w := &l.Weights[i][n]
			f(w.Tensor+"/"+l.Bundle.Weights[i].Role, &l.Bundle.Weights[i], w)
		}
	}
}
