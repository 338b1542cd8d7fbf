// Package bind joins a model file and a compiled bundle. It reports what does not fit, chooses among bundles,
// and finds every weight of a bundle in the file. A weight is copied only if kernels need another layout than
// the file's.
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

// Resolved is a model file that was inspected once: its hyper-parameters, its tensors by layer, and for each
// weight table, where the file has the weights. Fitting, choosing and binding all use these results. It is
// not safe for concurrent use.
type Resolved struct {
	File *gguf.File

	h          gguf.HParams
	err        error              // of reading h
	factors    device.RopeFactors // divisors of rotary frequencies
	badFactors *Mismatch
	tensors    map[place]*gguf.Tensor
	places     []place                     // of File.Tensors
	tables     map[tableKey]*table         // results of table
	fits       map[*plan.Bundle][]Mismatch // results of Fit
}

// place is a tensor's name, split into a pattern, which the tensor shares with those of other layers, and the
// layer. A name without a layer is its own pattern, in layer -1.
type place struct {
	pattern string
	layer   int
}

const (
	blockPrefix = "blk."
	inBlock     = blockPrefix + "%d." // the beginning of patterns
)

// readHParams reads the hyper-parameters of a file. A test counts its calls.
var readHParams = gguf.ReadHParams

// Resolve inspects a file, which must stay open while the result is in use. Errors in the file's
// hyper-parameters are reported by HParams and by every Fit.
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

// HParams returns the file's hyper-parameters. An error says why no bundle can be made for the file.
func (r *Resolved) HParams() (gguf.HParams, error) { return r.h, r.err }

// Runnable says why no bundle can be made for the file: because of its hyper-parameters or of the types of
// its tensors; nil: one can.
func (r *Resolved) Runnable() error {
	if r.err != nil {
		return r.err
	}
	return r.File.CheckTypes(&r.h)
}

// placeOf splits the name of a tensor.
func placeOf(name string) place {
	rest, ok := strings.CutPrefix(name, blockPrefix)
	if !ok {
		return place{name, -1}
	}
	number, rest, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || strconv.Itoa(n) != number { // no weight has a name such as blk.07
		return place{name, -1}
	}
	return place{inBlock + rest, n}
}

// tensor is the tensor of a pattern in the l-th layer that has weight w.
func (r *Resolved) tensor(pattern string, w *plan.Weight, l int) (*gguf.Tensor, bool) {
	if !layered(pattern, w) {
		return r.File.Tensor(layerName(pattern, w, l))
	}
	t, ok := r.tensors[place{pattern, w.Layer(l)}]
	return t, ok
}

// layered says whether a weight has one tensor of the pattern in each of several layers.
func layered(pattern string, w *plan.Weight) bool {
	return w.First >= 0 && strings.HasPrefix(pattern, inBlock)
}

// tableKey identifies the weights of a bundle, which it shares with other bundles of its spec, and those
// dimensions that determine the place of weights in fused tensors, and which tensors belong to the model.
type tableKey struct {
	weights, joined   rows
	nope, v, expertFF int
	layers, nextN     int
	linear            int
}

// rows identifies a list of weights by its memory.
type rows struct {
	first *plan.Weight
	n     int
}

func rowsOf(list []plan.Weight) rows { return rows{unsafe.SliceData(list), len(list)} }

// table is where a file has the weights of a weight table.
type table struct {
	sources [][]*source    // by weight and layer; nil: the weight is missing or wrong
	types   [][]quant.Type // of the weights that exist
	bad     []Mismatch     // of weights, in their order
	besides []Mismatch     // of Joined, and of tensors that the bundle does not read
}

// table returns the table of a bundle, which is computed once.
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

// find looks up weight w of its l-th layer, as a tensor of its own or as a part of a fused one. It returns a
// mismatch if the weight is missing or wrong.
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

// unexpectedTensors lists tensors in the model's layers that the bundle does not read. Without them the
// results would differ from what the file's author intended. Blocks after the last layer are MTP layers,
// which have bundles of their own. For such a bundle, all blocks except its own belong to the model.
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

// known returns a function that says whether the bundle may read a tensor.
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

// Bind binds the weights of b to the file. Weights are views of the file's mapped shards, so the file must
// stay open while the model is in use. Weights that kernels need in another layout are copied to one further
// region: the key half of a legacy attn_kv_b, transposed, rotated rows in pairs, and a norm with a factor.
// Bind returns a *FitError for a file that does not fit.
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

// Unbound returns the model without its weights, to compute what other memory it takes.
func (r *Resolved) Unbound(b *plan.Bundle) *device.Model {
	return &device.Model{Bundle: b, RopeFactors: r.factors}
}

// CopyBytes is the memory in bytes that Bind takes for copies of weights. The file must fit the bundle.
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
