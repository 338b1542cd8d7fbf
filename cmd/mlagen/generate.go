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
	spec, out, disable       string
	all, check, diff, dryRun bool
}

func runGenerate(args []string, stdout io.Writer) error {
	var g generateFlags
	f := newFlags("mlagen")
	f.StringVar(&g.spec, "spec", "", "")
	f.StringVar(&g.out, "out", "", "")
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
}

// files generates what the flags ask for.
func (g *generateFlags) files() (*tree, error) {
	root := ""
	if g.out == "" {
		var err error
		if root, err = moduleRoot(); err != nil {
			return nil, err
		}
	}
	paths := []string{g.spec}
	if g.out == "" {
		all, err := specFiles(root)
		if err != nil {
			return nil, err
		}
		if g.all && len(all) == 0 { // rather than take every bundle for an orphan
			return nil, fmt.Errorf("mlagen: no specs in %s", filepath.Join(root, "specs"))
		}
		if g.all {
			paths = all
		}
		if err := distinct(append(all, paths...)); err != nil {
			return nil, err
		}
	}
	t := &tree{bundles: map[string]*plan.Bundle{}}
	var names []string
	for _, path := range paths {
		name, err := g.bundle(t, root, path)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if g.out != "" {
		return t, nil
	}
	return t, g.registry(t, root, names)
}

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

// distinct refuses specs whose file names differ but not those of their
// bundles, so that one does not replace the other.
func distinct(paths []string) error {
	owner := map[string]string{}
	for _, path := range paths {
		name, file := spec.Name(path), filepath.Base(path)
		if other, taken := owner[name]; taken && other != file {
			return fmt.Errorf("specs %s and %s would both make the bundle %s; rename one", other, file, name)
		}
		owner[name] = file
	}
	return nil
}

// bundle generates one spec's files into t.
func (g *generateFlags) bundle(t *tree, root, path string) (string, error) {
	s, err := spec.Load(path)
	if err != nil {
		return "", err
	}
	var disable []string
	if g.disable != "" {
		disable = strings.Split(g.disable, ",")
	}
	b, err := gen.Compile(s, disable)
	if err != nil {
		return "", err
	}
	files, err := gen.Generate(s, b, disable)
	if err != nil {
		return "", err
	}
	folder := g.out
	if folder == "" {
		folder = filepath.Join(root, "generated", s.Name)
	}
	t.folders = append(t.folders, folder)
	t.bundles[folder] = b
	for _, f := range files {
		t.files = append(t.files, golang.File{Name: filepath.Join(folder, f.Name), Data: f.Data})
	}
	return s.Name, nil
}

// registry adds generated/zregistry.go: the bundles made now and, for a single
// spec, those that are there already. With -all any other folder is an orphan.
func (g *generateFlags) registry(t *tree, root string, names []string) error {
	marks, err := filepath.Glob(filepath.Join(root, "generated", "*", bundleMark))
	if err != nil {
		return err
	}
	for _, m := range marks {
		folder := filepath.Dir(m)
		if g.all {
			t.folders = append(t.folders, folder)
		} else {
			names = append(names, filepath.Base(folder))
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
			if !t.has(path) && (isGenerated(path) || t.bundles[folder] == nil && e.Name() == ptx.FileName) {
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
