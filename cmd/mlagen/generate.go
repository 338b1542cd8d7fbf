package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mla/gen"
	"mla/gen/golang"
	"mla/gen/ptx"
	"mla/gen/spec"
	"mla/runtime/atomicfile"
	"mla/runtime/plan"
)

// errDrift says that files on disk differ from what mlagen generates.
var errDrift = errors.New("generated files are out of date")

// bundleMark is the file that makes a folder below generated/ a bundle.
const bundleMark = "zmodel.go"

type generateFlags struct {
	spec, out, act, class    string
	disable                  string
	all, check, diff, dryRun bool
}

func runGenerate(args []string, stdout io.Writer) error {
	var g generateFlags
	f := newFlags("mlagen")
	f.StringVar(&g.spec, "spec", "", "")
	f.StringVar(&g.out, "out", "", "")
	f.StringVar(&g.act, "act", "", "")
	f.StringVar(&g.class, "class", "", "")
	f.StringVar(&g.disable, "disable", "", "")
	f.BoolVar(&g.all, "all", false, "")
	f.BoolVar(&g.check, "check", false, "")
	f.BoolVar(&g.diff, "diff", false, "")
	f.BoolVar(&g.dryRun, "n", false, "")
	if err := f.parse(args); err != nil {
		return err
	}
	switch {
	case g.all == (g.spec != ""):
		return fmt.Errorf("%w: give either -spec F or -all", errUsage)
	case g.all && g.out != "":
		return fmt.Errorf("%w: -out goes with -spec", errUsage)
	case (g.act != "" || g.class != "") && g.out == "":
		return fmt.Errorf("%w: -act and -class go with -out; generated/ gets every variant of a spec", errUsage)
	}
	want, err := g.files()
	if err != nil {
		return err
	}
	switch {
	case g.check:
		return g.checkFiles(want)
	case g.diff:
		return printDiff(want, stdout)
	case g.dryRun:
		return printNames(want, stdout)
	}
	return want.write()
}

// tree is a set of files to be, in order, and the folders that hold nothing else
// but PTX.
type tree struct {
	files   []golang.File // Name is the path on disk
	folders []string
	bundles map[string]*plan.Bundle // by folder
	nvidia  map[string]bool         // folders of bundles that NVIDIA GPUs run, which have PTX
}

// files generates what the flags ask for.
func (g *generateFlags) files() (*tree, error) {
	t := &tree{bundles: map[string]*plan.Bundle{}, nvidia: map[string]bool{}}
	if g.out != "" {
		s, err := variant(g.spec, g.act, g.class)
		if err != nil {
			return nil, err
		}
		return t, g.bundle(t, g.out, s)
	}
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	all, err := specFiles(root)
	if err != nil {
		return nil, err
	}
	paths := []string{g.spec}
	if g.all {
		if paths = all; len(all) == 0 { // rather than take every bundle for an orphan
			return nil, fmt.Errorf("mlagen: no specs in %s", filepath.Join(root, "specs"))
		}
	}
	specs, err := variants(paths)
	if err != nil {
		return nil, err
	}
	owner, err := owners(append(all, paths...))
	if err != nil {
		return nil, err
	}
	for _, s := range specs {
		if err := g.bundle(t, folderOf(root, s.Name), s); err != nil {
			return nil, err
		}
	}
	return t, g.registry(t, root, specs, owner)
}

// folderOf is where a bundle's files lie.
func folderOf(root, bundle string) string { return filepath.Join(root, "generated", bundle) }

// specFiles lists the project's specs.
func specFiles(root string) ([]string, error) {
	var all []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		paths, err := filepath.Glob(filepath.Join(root, "specs", pattern))
		if err != nil {
			return nil, err
		}
		all = append(all, paths...)
	}
	return all, nil
}

// variants loads all specs, once for every bundle that they make.
func variants(paths []string) ([]*spec.Spec, error) {
	var list []*spec.Spec
	for _, path := range paths {
		s, err := spec.Load(path)
		if err != nil {
			return nil, err
		}
		list = append(list, s.Variants()...)
	}
	return list, nil
}

// variant loads the variant of a spec with activations act ("": the first) for a class
// of devices ("": any).
func variant(path, act, class string) (*spec.Spec, error) {
	if class != "" && !slices.Contains(plan.Classes, class) {
		return nil, fmt.Errorf("%w: -class is %q; expected %s", errUsage, class, strings.Join(plan.Classes, " or "))
	}
	if act != "" && !slices.Contains(spec.Activations, act) {
		return nil, fmt.Errorf("%w: -act is %q; expected %s", errUsage, act, strings.Join(spec.Activations, " or "))
	}
	s, err := spec.Load(path)
	if err != nil {
		return nil, err
	}
	if act != "" {
		s = s.WithActivations(act)
	}
	return s.WithClass(class), nil
}

// owners maps bundles to the specs that make them. It refuses two specs that make
// bundles of one name, so that one does not replace the other.
func owners(paths []string) (map[string]string, error) {
	owner := map[string]string{}
	for _, path := range paths {
		file, names := filepath.Base(path), []string{spec.Name(path)}
		if s, err := spec.Load(path); err == nil { // who wants another spec need not mend this one
			names = nil
			for _, v := range s.Variants() {
				names = append(names, v.Name)
			}
		}
		for _, name := range names {
			if other, taken := owner[name]; taken && other != file {
				return nil, fmt.Errorf("specs %s and %s would both make the bundle %s; rename one", other, file, name)
			}
			owner[name] = file
		}
	}
	return owner, nil
}

// bundle generates one bundle's files into t.
func (g *generateFlags) bundle(t *tree, folder string, s *spec.Spec) error {
	var disable []string
	if g.disable != "" {
		disable = strings.Split(g.disable, ",")
	}
	b, err := gen.Compile(s, disable)
	if err != nil {
		return err
	}
	files, err := gen.Generate(s, b, disable)
	if err != nil {
		return err
	}
	t.folders = append(t.folders, folder)
	t.bundles[folder] = b
	t.nvidia[folder] = s.Serves(plan.ClassNVIDIA)
	for _, f := range files {
		t.files = append(t.files, golang.File{Name: filepath.Join(folder, f.Name), Data: f.Data})
	}
	return nil
}

// registry adds generated/zregistry.go: the bundles of specs and, for a single spec
// file, those of the others that are there already. Other folders are orphans: with
// -all each that no spec makes, else those of variants that the file no longer has.
func (g *generateFlags) registry(t *tree, root string, specs []*spec.Spec, owner map[string]string) error {
	marks, err := filepath.Glob(folderOf(root, filepath.Join("*", bundleMark)))
	if err != nil {
		return err
	}
	var names []string
	for _, s := range specs {
		names = append(names, s.Name)
	}
	for _, m := range marks {
		folder := filepath.Dir(m)
		name := filepath.Base(folder)
		if owner[name] == "" && (g.all || isVariant(specs[0], name)) {
			t.folders = append(t.folders, folder)
		} else if !g.all {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	slices.Sort(t.folders)
	t.folders = slices.Compact(t.folders)
	f, err := golang.Registry(slices.Compact(names))
	if err != nil {
		return err
	}
	t.files = append(t.files, golang.File{Name: filepath.Join(root, "generated", f.Name), Data: f.Data})
	return nil
}

// isVariant says whether a bundle of that name would come of the spec's file, if it
// asked for it.
func isVariant(s *spec.Spec, bundle string) bool {
	return slices.ContainsFunc(append([]string{""}, plan.Classes...), func(class string) bool {
		return slices.ContainsFunc(spec.Activations, func(act string) bool { return s.WithActivations(act).WithClass(class).Name == bundle })
	})
}

// orphans lists the files in t's folders that are not of t.
func (t *tree) orphans() ([]string, error) {
	var list []string
	for _, folder := range t.folders {
		entries, err := os.ReadDir(folder)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if !t.has(path) && (isGenerated(path) || !t.nvidia[folder] && e.Name() == ptx.FileName) {
				list = append(list, path)
			}
		}
	}
	return list, nil
}

func (t *tree) has(path string) bool {
	return slices.ContainsFunc(t.files, func(f golang.File) bool { return f.Name == path })
}

// isGenerated says whether a file carries mlagen's header. Only such files are
// ever removed.
func isGenerated(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(headerMark))
	n, _ := io.ReadFull(f, head)
	return string(head[:n]) == headerMark
}

const headerMark = "// Code generated by mlagen from "

// write writes the files that differ and removes orphans.
func (t *tree) write() error {
	orphans, err := t.orphans()
	if err != nil {
		return err
	}
	for _, path := range orphans {
		if err := os.Remove(path); err != nil {
			return err
		}
		os.Remove(filepath.Dir(path)) // fails, as it should, while the folder is not empty
	}
	for _, f := range t.files {
		if old, err := os.ReadFile(f.Name); err == nil && bytes.Equal(old, f.Data) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
			return err
		}
		if err := atomicfile.Write(f.Name, f.Data); err != nil {
			return err
		}
	}
	return nil
}

// moduleRoot is the folder of this module's go.mod, at or above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(data, []byte("module mla\n")) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("mlagen: no go.mod of module mla at or above the working directory; run it inside the project or give -out DIR")
		}
		dir = parent
	}
}
