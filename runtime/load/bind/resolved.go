// Package bind joins a model file and a compiled bundle: it says precisely
// what does not fit, chooses among bundles, and finds every weight of a
// bundle in the file, without copying where the file has it as the kernels
// read it.
package bind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Resolved is a model file that is looked at once: its hyper-parameters, its tensors by layer,
// and where it has the weights of each table of weights. What fits, what is chosen and what is
// bound are views of it. It is not safe for concurrent use.
type Resolved struct {
	File *gguf.File

	h          gguf.HParams
	err        error              // of h
	factors    device.RopeFactors // of rotary frequencies
	badFactors *Mismatch
	tensors    map[place]*gguf.Tensor
	places     []place                     // of File.Tensors
	tables     map[tableKey]*table         // what was looked for
	fits       map[*plan.Bundle][]Mismatch // what was compared
}

// place is a tensor's name: the pattern that the names of its like have in all layers, and the
// layer. A name without a layer is its own pattern, in layer -1.
type place struct {
	pattern string
	layer   int
}

const (
	blockPrefix = "blk."
	inBlock     = blockPrefix + "%d." // begins patterns
)

// readHParams reads the header of a file. A test counts its calls.
var readHParams = gguf.ReadHParams

// Resolve looks at a file, which must stay open while the result is in use. What is wrong with
// the file's hyper-parameters is told by HParams, and by every fit.
func Resolve(f *gguf.File) *Resolved {
	r := &Resolved{File: f, tensors: map[place]*gguf.Tensor{}, tables: map[tableKey]*table{}, fits: map[*plan.Bundle][]Mismatch{}}
	if r.h, r.err = readHParams(f); r.err == nil {
		r.factors, r.badFactors = ropeFactors(f, &r.h)
	}
	for i := range f.Tensors {
		p := placeOf(f.Tensors[i].Name)
		r.places = append(r.places, p)
		r.tensors[p] = &f.Tensors[i]
	}
	return r
}

// HParams are the file's hyper-parameters. An error says why no bundle can be made for the file.
func (r *Resolved) HParams() (gguf.HParams, error) { return r.h, r.err }

// Runnable says why no bundle can be made for the file: its hyper-parameters, or types of its
// tensors. nil: one can.
func (r *Resolved) Runnable() error {
	if r.err != nil {
		return r.err
	}
	return r.File.CheckTypes(&r.h)
}

// placeOf takes the name of a tensor apart.
func placeOf(name string) place {
	rest, ok := strings.CutPrefix(name, blockPrefix)
	if !ok {
		return place{name, -1}
	}
	number, rest, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || strconv.Itoa(n) != number { // 07 is no name that a weight has
		return place{name, -1}
	}
	return place{inBlock + rest, n}
}

// tensor is that of a pattern in the l-th layer that has weight w.
func (r *Resolved) tensor(pattern string, w *plan.Weight, l int) (*gguf.Tensor, bool) {
	if !layered(pattern, w) {
		return r.File.Tensor(layerName(pattern, w, l))
	}
	t, ok := r.tensors[place{pattern, w.Layer(l)}]
	return t, ok
}

// layered says whether a weight has a tensor in each of several layers, all in places of pattern.
func layered(pattern string, w *plan.Weight) bool {
	return w.First >= 0 && strings.HasPrefix(pattern, inBlock)
}

// tableKey names the weights of a bundle, which it shares with others of its spec, and the
// dimensions of a model that say where a weight lies in a fused tensor, and which tensors are of
// the model.
type tableKey struct {
	weights, joined   rows
	nope, v, expertFF int
	layers, nextN     int
	linear            int
}

// rows names a list of weights: one with the same memory is the same list.
type rows struct {
	first *plan.Weight
	n     int
}

func rowsOf(list []plan.Weight) rows { return rows{unsafe.SliceData(list), len(list)} }

// table is where a file has the weights of a table.
type table struct {
	sources [][]*source    // of each weight, by layer; nil: it is not there as it should be
	types   [][]quant.Type // of those that are there
	bad     []Mismatch     // of weights, in their order
	besides []Mismatch     // of what the host joins, and of tensors that nothing reads
}

// table looks for a bundle's weights, once.
func (r *Resolved) table(b *plan.Bundle) *table {
	m := &b.Model
	key := tableKey{rowsOf(b.Weights), rowsOf(b.Joined), m.QKNopeHeadDim, m.VHeadDim, m.MoE.MoEIntermediateSize, m.NumHiddenLayers, m.NextN, linearRows(m)}
	t := r.tables[key]
	if t == nil {
		t = r.look(b)
		r.tables[key] = t
	}
	return t
}

func (r *Resolved) look(b *plan.Bundle) *table {
	t := &table{sources: make([][]*source, len(b.Weights)), types: make([][]quant.Type, len(b.Weights))}
	for i := range b.Weights {
		w := &b.Weights[i]
		var row []Mismatch
		for l := range w.Layers() {
			src, bad := r.find(b, w, l)
			t.sources[i] = append(t.sources[i], src)
			if bad != nil {
				bad.subject = w.Role
				row = merge(row, *bad)
				continue
			}
			t.types[i] = append(t.types[i], src.typ)
		}
		t.bad = append(t.bad, row...)
	}
	for i := range b.Joined {
		if _, bad := r.find(b, &b.Joined[i], 0); bad != nil {
			t.besides = append(t.besides, *bad)
		}
	}
	t.besides = append(t.besides, r.unexpectedTensors(b)...)
	return t
}

// find looks for weight w of its l-th layer, as a tensor of its own or as part of a fused
// one. It returns what is wrong if it is not there as it should.
func (r *Resolved) find(b *plan.Bundle, w *plan.Weight, l int) (*source, *Mismatch) {
	t, ok := r.tensor(w.GGUF, w, l)
	var of *part
	if !ok {
		if t, ok = r.tensor(w.Alt, w, l); ok {
			if h, fused := parts[w.Role]; fused {
				of = &h
			}
		}
	}
	if ok {
		scale, err := r.File.Scale(t)
		if err != nil {
			return nil, &Mismatch{What: subject(t.Name, w), Found: err.Error(), Expected: "its scales"}
		}
		if of != nil {
			return of.in(t, scale, w, &b.Model)
		}
		return whole(t, scale, w)
	}
	return nil, &Mismatch{What: subject(layerName(w.GGUF, w, l), w), Found: absent, Expected: "dimensions " + dims(shape(w))}
}

// unexpectedTensors lists tensors in the model's layers that the bundle never reads:
// computing without them would give other numbers than the file's author meant.
// Blocks after the last layer are of layers that predict, which have bundles of their
// own; to such a bundle, all but its block is of the model.
func (r *Resolved) unexpectedTensors(b *plan.Bundle) []Mismatch {
	known := r.known(b)
	var out []Mismatch
	at := map[string]int{} // index in out, by name without the layer
	for i, p := range r.places {
		name := r.File.Tensors[i].Name
		if of, ok := r.File.Scaled(name); known(p, name) || ok && known(placeOf(of.Name), of.Name) {
			continue
		}
		block, in := blockOf(name)
		if in && b.Model.NextN == 0 && block >= b.Model.NumHiddenLayers || b.Model.NextN > 0 && block != b.Model.NextN {
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

// known tells of a tensor whether the bundle may read it.
func (r *Resolved) known(b *plan.Bundle) func(p place, name string) bool {
	patterns, names := map[string][]*plan.Weight{}, map[string]bool{}
	add := func(pattern string, w *plan.Weight) {
		if layered(pattern, w) {
			patterns[pattern] = append(patterns[pattern], w)
			return
		}
		for l := range w.Layers() {
			names[layerName(pattern, w, l)] = true
		}
	}
	for _, list := range [][]plan.Weight{b.Weights, b.Joined} {
		for i := range list {
			add(list[i].GGUF, &list[i])
			if list[i].Alt != "" {
				add(list[i].Alt, &list[i])
			}
		}
	}
	for _, name := range gguf.ArchitectureOf(r.h.Architecture).Besides {
		names[name] = true
	}
	return func(p place, name string) bool {
		return names[name] || slices.ContainsFunc(patterns[p.pattern], func(w *plan.Weight) bool { return w.Index(p.layer) >= 0 })
	}
}

// Bind finds the weights of b in the file. The weights are views of the file's mapped
// shards, so it must stay open while the model is in use; only what kernels want
// otherwise than the file has it is copied, into one further region: the key half of a
// legacy attn_kv_b, transposed, rotated rows in pairs, and a norm with a factor. A file
// that does not fit gives a *FitError.
func (r *Resolved) Bind(b *plan.Bundle) (*device.Model, error) {
	f := r.File
	if bad := r.Fit(b); len(bad) > 0 {
		return nil, &FitError{File: f.Path, Bundle: b.Name, Asked: true, Mismatches: bad}
	}
	m := r.Unbound(b)
	for i := range f.Shards {
		m.Regions = append(m.Regions, f.Shards[i].Data)
	}
	if f.Mapped() {
		m.Mapped = len(m.Regions)
	}
	copies := &copies{region: len(m.Regions)}
	for _, sources := range r.table(b).sources {
		row := make([]device.Weight, len(sources))
		for l, src := range sources {
			if src.copied() {
				row[l] = copies.add(src)
			} else {
				row[l] = src.view()
			}
		}
		m.Weights = append(m.Weights, row)
	}
	if copies.bytes > 0 {
		region, err := copies.make()
		if err != nil {
			return nil, err
		}
		m.Regions = append(m.Regions, region)
	}
	return m, nil
}

// Unbound is the model without its weights: what memory it takes beside them can be asked.
func (r *Resolved) Unbound(b *plan.Bundle) *device.Model {
	return &device.Model{Bundle: b, RopeFactors: r.factors}
}

// CopyBytes is the memory that Bind takes for copies of weights, in bytes. The
// file must fit the bundle.
func (r *Resolved) CopyBytes(b *plan.Bundle) int64 {
	var n int64
	for _, sources := range r.table(b).sources {
		for _, src := range sources {
			if src != nil && src.copied() {
				n += padded(src.bytes)
			}
		}
	}
	return n
}
