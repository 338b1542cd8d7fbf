package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/runtime/quant"
	"mla/sim/mutate/kernels"
	"mla/sim/mutate/plans"
	"mla/sim/mutate/sources"
)

// plans lists the mutations of the plans.
func (r *rig) plans() (all []mutation) {
	for i, file := range files {
		for _, p := range plans.List(r.models[i].Bound, quant.F32) {
			all = append(all, mutation{"plan/" + file + "/" + p.ID, file, func() verdict { return r.plan(&p, file) }})
		}
	}
	return all
}

// plan tries a changed plan: with a sampler for mistakes in the sampler, otherwise on a short context and, if
// that does not catch it, on a long one.
func (r *rig) plan(p *plans.Mutation, file string) verdict {
	stem := r.stem(file)
	if p.Sampler {
		return r.run(r.trial, nil, append(picking(stem), "-plan", p.ID)...)
	}
	if !p.Deep {
		if v := r.run(r.trial, nil, append(r.short(file), "-plan", p.ID)...); v.by != "" {
			return v
		}
	}
	return r.far(file, "-plan", p.ID)
}

// far runs a file in a long context, on the executor with all checks. The unchanged program runs first: the
// trial compares the bits of the logits with that run.
func (r *rig) far(file string, args ...string) verdict {
	run := func(args ...string) verdict {
		return r.run(r.trial, nil, append(args, "-deep", "-device", "checked", "-kv", "f32,f16", "-file", r.stem(file), "-bits", filepath.Join(r.work, file+".far"))...)
	}
	if err := r.passesUnchanged(file+", long context", func() verdict { return run() }); err != nil {
		return verdict{broken: err}
	}
	return run(args...)
}

// picking are the arguments of a trial that compares picked tokens only.
func picking(stem string) []string { return []string{"-file", stem, "-pick", "-tokens", "3"} }

// edit is a mutation of one file's Metal source.
type edit struct {
	kernels.Mutation
	file, source string
	sampler      bool
}

// kernels lists the mutations of the kernels that the reference files run. A mutation of a function that
// several files share is tried on all of them in turn until one notices it, because not every shape takes
// every branch.
func (r *rig) kernels() (all []mutation) {
	for _, edits := range r.edits() {
		first := edits[0]
		all = append(all, mutation{"msl/" + first.file + "/" + first.ID, first.file, func() verdict { return r.kernel(edits) }})
	}
	return all
}

// edits lists all edits. The edits of one function that several files share form one element.
func (r *rig) edits() (all [][]*edit) {
	type place struct{ id, body string }
	index := map[place]int{}
	for i, file := range files {
		b := r.models[i].Bound.Bundle
		for n, dispatches := range [][]plan.Dispatch{b.Decode().Dispatches, b.Pick} {
			for _, k := range kernels.List(b.Source, functions(r.models[i].Bound, dispatches)) {
				at := place{k.ID, k.Body}
				if _, ok := index[at]; !ok {
					index[at] = len(all)
					all = append(all, nil)
				}
				all[index[at]] = append(all[index[at]], &edit{k, file, b.Source, n == 1})
			}
		}
	}
	return all
}

// kernel makes the same edit in all files that share the function, one file at a time, and then tries the
// first file in a long context. Edits of the sampler's kernels run in the simulator, because they need the
// runtime. An edit that no file notices is tried with the tests of other shapes.
func (r *rig) kernel(edits []*edit) verdict {
	for _, k := range edits {
		if !r.passes[k.file] {
			continue // a fast run opens some files only
		}
		if v := r.edit(k, false); v != (verdict{}) {
			return v
		}
	}
	if !edits[0].sampler {
		if v := r.edit(edits[0], true); v != (verdict{}) {
			return v
		}
	}
	return r.template(edits[0])
}

// shapes are tests of kernels with shapes and numbers that the reference files do not have, by whether they
// test the sampler's kernels. The sampler and the other kernels share no functions.
var shapes = map[bool][][]string{
	true: {{"./gen/msl", "-run", "^(TestPicks)$"}},
	false: {
		{"./gen/msl", "-tags", "deep", "-run", "^(TestAttentionRescales|TestFewRows|TestOddAttention|TestRouteOrder|TestRouteOdd|TestShares|TestExecuteSplit|TestAttentionTiles)$"},
		{"./gen/msl", "-run", "^(TestExecute)$"}, // with the tag deep this test runs all bundles
	},
}

// template makes an edit in the template of its function, if the template contains the function as printed,
// and runs the tests of other shapes.
func (r *rig) template(k *edit) verdict {
	root := os.DirFS(r.root)
	for _, pattern := range []string{"templates/msl/parts/*.msl", "templates/msl/lib/*.metal", "templates/msl/lib/*/*.metal"} {
		paths, err := fs.Glob(root, pattern)
		if err != nil {
			return verdict{broken: err}
		}
		for _, path := range paths {
			text, err := fs.ReadFile(root, path)
			if err != nil {
				return verdict{broken: err}
			}
			if strings.Count(string(text), k.Body) == 1 {
				changed := strings.Replace(string(text), k.Body, k.Changed(), 1)
				return r.overlaid(&sources.Mutation{File: path, Text: []byte(changed)}, shapes[k.sampler])
			}
		}
	}
	return verdict{}
}

// overlaid runs tests with a changed file until one fails.
func (r *rig) overlaid(s *sources.Mutation, runs [][]string) verdict {
	folder, err := os.MkdirTemp(r.work, "overlay")
	if err != nil {
		return verdict{broken: err}
	}
	defer os.RemoveAll(folder)
	overlay, err := s.Overlay(r.root, folder)
	if err != nil {
		return verdict{broken: err}
	}
	for _, tests := range runs {
		if v := r.overlay(overlay, tests); v != (verdict{}) {
			return v
		}
	}
	return verdict{}
}

// overlay runs tests with the changed files, after checking that they pass without the change.
func (r *rig) overlay(overlay string, tests []string) verdict {
	if !r.fast {
		if err := r.passesUnchanged(strings.Join(tests, " "), func() verdict { return r.test(tests...) }); err != nil {
			return verdict{broken: err}
		}
	}
	return r.test(append([]string{"-count=1", "-overlay", overlay}, tests...)...)
}

// edit runs changed source on one file: first with all checks of the executor, with each buffer cut to the
// range that the kernel may access, then with sanitizers, which also check arrays in registers. long runs a
// long context instead.
func (r *rig) edit(k *edit, long bool) verdict {
	folder, err := os.MkdirTemp(r.work, "msl")
	if err != nil {
		return verdict{broken: err}
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "kernels.metal")
	changed := k.In(k.source)
	if !k.sampler { // the simulator cuts the buffers itself
		if changed, err = pieces.Parse(changed).Cut(r.decoders(k.file)); err != nil {
			return verdict{broken: err}
		}
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		return verdict{broken: err}
	}
	switch {
	case k.sampler:
		return r.run(r.trial, nil, append(picking(r.stem(k.file)), "-source", path)...)
	case long:
		return r.far(k.file, "-source", path)
	}
	for _, device := range []string{"checked", "sanitized"} {
		if v := r.run(r.trial, nil, append(r.short(k.file), "-source", path, "-device", device)...); v.by != "" || v.invalid {
			return v
		}
	}
	return verdict{}
}

// decoders returns the kernels that run on a file, without the sampler's.
func (r *rig) decoders(file string) []string {
	m := r.models[slices.Index(files, file)].Bound
	return slices.Collect(maps.Keys(functions(m, m.Bundle.Decode().Dispatches)))
}

// functions returns the kernel functions that dispatches need, for both element types of the cache.
func functions(m *device.Model, dispatches []plan.Dispatch) map[string]bool {
	used := map[string]bool{}
	for i := range dispatches {
		for _, kv := range []quant.Type{quant.F32, quant.F16} {
			if v, err := m.Variant(&dispatches[i], kv); err == nil {
				used[v.Func] = true
			}
		}
	}
	return used
}

// mutated are the packages whose Go code is mutated. Their tests are run, and the tests of the package that
// resolves the commands of a plan.
var (
	mutated = []string{"runtime/device/metal", "runtime/device/metal/mtl", "runtime/device/metal/trust", "runtime/plan/pieces"}
	tests   = []string{"./runtime/plan/pieces", "./runtime/device", "./runtime/device/metal/mtl", "./runtime/device/metal/trust", "./runtime/device/metal"}
)

// systems are trials that exercise the runtime in ways that its own tests do not, or that they reach later.
var systems = []struct {
	env, args []string
}{
	{nil, []string{"-tokens", "6", "-pick"}},
	{[]string{"METALSIM_OS=14", "METALSIM_GPU=m1"}, []string{"-tokens", "6"}},
	{[]string{"METALSIM_GPU=m2"}, []string{"-tokens", "6", "-replay", "encode"}},
	{nil, []string{"-tokens", "4", "-distant"}},
}

// templates lists the named mistakes in templates.
func (r *rig) templates() (all []mutation, err error) {
	named, err := sources.InKernels(r.root)
	for _, s := range named {
		all = append(all, mutation{"msl/" + s.ID, "", func() verdict { return r.overlaid(&s, shapes[false]) }})
	}
	return all, err
}

// sources lists the mutations of the runtime's Go code.
func (r *rig) sources() (all []mutation, err error) {
	found, err := sources.List(r.root, mutated...)
	if err != nil {
		return nil, err
	}
	named, err := sources.Named(r.root)
	if err != nil {
		return nil, err
	}
	for _, s := range append(named, found...) {
		all = append(all, mutation{"go/" + s.ID, "", func() verdict { return r.source(&s) }})
	}
	return all, nil
}

// source tries a changed Go file: its packages' tests, then trials built with the change.
func (r *rig) source(s *sources.Mutation) verdict {
	folder, err := os.MkdirTemp(r.work, "go")
	if err != nil {
		return verdict{broken: err}
	}
	defer os.RemoveAll(folder)
	overlay, err := s.Overlay(r.root, folder)
	if err != nil {
		return verdict{broken: err}
	}
	trial := filepath.Join(folder, "trial")
	if _, err := r.build(trial, overlay); err != nil {
		return verdict{invalid: true}
	}
	for _, system := range systems {
		if v := r.run(trial, system.env, append(system.args, "-file", r.stem(files[0]))...); v.by != "" {
			return v
		}
	}
	for _, folder := range testOrder(s.File) {
		if v := r.overlay(overlay, []string{folder}); v != (verdict{}) {
			return v
		}
	}
	return r.overlay(overlay, []string{"-tags", "deep", "./" + path.Dir(s.File)}) // mistakes that the fast tests do not notice
}

// testOrder returns the packages whose tests try a changed file. The file's own package is first, because it
// notices most mistakes and the first failure ends the trial.
func testOrder(file string) []string {
	own := "./" + path.Dir(file)
	return append([]string{own}, slices.DeleteFunc(slices.Clone(tests), func(p string) bool { return p == own })...)
}

// test runs go test with some arguments. The time limit of go test is disabled: it counts wall time, and on a
// busy machine would look like a failing test.
func (r *rig) test(args ...string) verdict {
	return r.look(nil, "go", append([]string{"test", "-failfast", "-timeout=0", "-vet=off", stripped}, args...)...)
}
