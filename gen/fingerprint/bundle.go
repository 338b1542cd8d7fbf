package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"mla/gen"
	"mla/gen/ptx"
	"mla/gen/spec"
	"mla/gen/target"
	"mla/runtime/device"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/runtime/plan/planjson"
)

// project has the bundles of a checkout, and options.
type project struct {
	root      string
	entries   []entry
	compile   func(bundle string) bool // reports whether to compile a bundle's PTX if no file has it
	functions bool                     // also print fingerprints of single functions
}

// entry is a bundle of a spec.
type entry struct {
	*spec.Spec
	ptx bool // mlagen ptx -all compiles it
}

// open lists the bundles of specs/ and specs/more/ below root.
func open(root string) (*project, error) {
	p := &project{root: root, compile: func(string) bool { return false }}
	seen := map[string]bool{}
	for _, folder := range []string{"specs", filepath.Join("specs", "more")} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.y*ml"))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("no specs in %s; run this in the root of the repository", filepath.Join(root, folder))
		}
		for _, file := range files {
			s, err := spec.Load(file)
			if err != nil {
				return nil, err
			}
			for _, v := range s.Variants() {
				if seen[v.Name] {
					return nil, fmt.Errorf("%s: a second bundle %s", file, v.Name)
				}
				seen[v.Name] = true
				p.entries = append(p.entries, entry{v, folder == "specs" && v.Serves(target.PTXClass)})
			}
		}
	}
	return p, nil
}

// names returns the names of all bundles.
func (p *project) names() (list []string) {
	for _, e := range p.entries {
		list = append(list, e.Name)
	}
	return list
}

// only keeps the bundles named, or all if names is empty.
func (p *project) only(names []string) error {
	for _, name := range names {
		if !slices.Contains(p.names(), name) {
			return fmt.Errorf("no bundle %s; there are %s", name, strings.Join(p.names(), ", "))
		}
	}
	if len(names) > 0 {
		p.entries = slices.DeleteFunc(slices.Clone(p.entries), func(e entry) bool { return !slices.Contains(names, e.Name) })
	}
	return nil
}

// table compiles the bundles, on all cores.
func (p *project) table() (table, error) {
	tables, errs := make([]table, len(p.entries)), make([]error, len(p.entries))
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, e := range p.entries {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			tables[i], errs[i] = p.bundle(e)
		})
	}
	all.Wait()
	return slices.Concat(tables...), errors.Join(errs...)
}

// bundle returns the fingerprints of one bundle.
func (p *project) bundle(e entry) (table, error) {
	b, err := gen.Compile(e.Spec, nil)
	if err != nil {
		return nil, err
	}
	t, err := fingerprints(b, e.Serves(target.PTXClass))
	if err == nil && p.functions {
		err = t.addFunctions(b)
	}
	if err != nil || !e.ptx {
		return t, err
	}
	value, err := p.ptx(b)
	if err == nil && value != "" {
		t = append(t, line{b.Name, ptxKind, value})
	}
	return t, err
}

// fingerprints returns the fingerprints of a bundle that need no clang.
func fingerprints(b *plan.Bundle, ptxToo bool) (table, error) {
	value, err := planSum(b)
	if err != nil {
		return nil, err
	}
	t := table{{b.Name, planKind, value}}
	if err := t.addMetal(b); err != nil || !ptxToo {
		return t, err
	}
	key, err := ptx.CodeKey(b)
	return append(t, line{b.Name, translatedKind, short(key)}), err
}

// short shortens a hash to 64 bits, which suffice to tell two kernels apart.
func short(hexadecimal string) string { return hexadecimal[:16] }

// sum returns the short hash of texts.
func sum(texts ...string) string {
	hash := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(hash, "%d\n%s", len(text), text)
	}
	return short(fmt.Sprintf("%x", hash.Sum(nil)))
}

// planSum returns the hash of the plan. The Metal source is left out, because it has hashes of its own, and
// the hash of the spec, because comments in a spec change no plan.
func planSum(b *plan.Bundle) (string, error) {
	bare := *b
	bare.Source, bare.SourceHash, bare.SpecHash = "", "", ""
	text, err := planjson.Marshal([]*plan.Bundle{&bare})
	return sum(string(text)), err
}

// classes returns the kernel classes of the bundle's kernels, with "" for any GPU first.
func classes(b *plan.Bundle) []string {
	list := []string{""}
	for i := range b.Kernels {
		if c := b.Kernels[i].Class; !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// addMetal adds hashes of the text that the Metal device compiles: for each profile, and for each cache type
// and kernel class. So a change shows which of them it affects, and the table has one line for each profile
// and each cache, not for each pair.
func (t *table) addMetal(b *plan.Bundle) error {
	source := pieces.Parse(b.Metal())
	caches := map[string][]string{} // sums by cache type and class
	for i := range b.Profiles {
		var sums []string
		for _, kv := range b.Model.CacheTypes() {
			for _, class := range classes(b) {
				functions, err := reference.Profile(b, &b.Profiles[i]).Functions(device.Config{KV: kv, Width: b.Width()}, class)
				if err != nil {
					return err
				}
				cut, err := source.Cut(functions)
				if err != nil {
					return fmt.Errorf("bundle %s, profile %s: %w", b.Name, b.Profiles[i].Name, err)
				}
				what := cacheKind + "=" + kv.String()
				if class != "" {
					what += "," + class
				}
				s := sum(cut)
				sums, caches[what] = append(sums, s), append(caches[what], s)
			}
		}
		*t = append(*t, line{b.Name, profileKind + "=" + strings.ReplaceAll(b.Profiles[i].Name, " ", "+"), sum(sums...)})
	}
	for _, what := range slices.Sorted(maps.Keys(caches)) {
		*t = append(*t, line{b.Name, what, sum(caches[what]...)})
	}
	return nil
}

// addFunctions adds a hash for each kernel function, with everything that it uses.
func (t *table) addFunctions(b *plan.Bundle) error {
	source := pieces.Parse(b.Metal())
	for _, f := range b.Functions() {
		cut, err := source.Cut([]string{f})
		if err != nil {
			return err
		}
		*t = append(*t, line{b.Name, functionKind + "=" + f, sum(cut)})
	}
	return nil
}
