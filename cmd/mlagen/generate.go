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
	"mla/runtime/plan"
)

// errDrift says that files on disk differ from what mlagen generates.
var errDrift = errors.New("generated files are out of date")

// packageMark is the file that makes a folder one of bundles.
const packageMark = "zmodel.go"

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

// files generates what the flags ask for.
func (g *generateFlags) files() (*tree, error) {
	t := newTree()
	if g.out != "" {
		s, err := variant(g.spec, g.act, g.class)
		if err != nil {
			return nil, err
		}
		t.alone = s
		return t, g.pkg(t, g.out, s.Name, []*spec.Spec{s})
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
	if err := clash(append(all, paths...)); err != nil {
		return nil, err
	}
	for _, path := range paths {
		s, err := spec.Load(path)
		if err != nil {
			return nil, err
		}
		if err := g.pkg(t, folderOf(root, s), spec.Name(s.File), s.Variants()); err != nil {
			return nil, err
		}
	}
	return t, g.registry(t, root)
}

// folderOf is where the bundles of a spec lie.
func folderOf(root string, s *spec.Spec) string {
	return filepath.Join(root, "generated", spec.Name(s.File))
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

// clash refuses two specs that make bundles of one name, so that one does not replace
// the other.
func clash(paths []string) error {
	owner := map[string]string{}
	for _, path := range paths {
		file, names := filepath.Base(path), []string{spec.Name(path)}
		if s, err := spec.Load(path); err == nil { // who wants another spec need not mend this one
			for _, v := range s.Variants() {
				names = append(names, v.Name)
			}
		}
		for _, name := range names {
			if other, taken := owner[name]; taken && other != file {
				return fmt.Errorf("specs %s and %s would both make the bundle %s; rename one", other, file, name)
			}
			owner[name] = file
		}
	}
	return nil
}

// pkg generates the files of a package with the bundles of some variants of a spec.
func (g *generateFlags) pkg(t *tree, folder, name string, variants []*spec.Spec) error {
	var disable []string
	if g.disable != "" {
		disable = strings.Split(g.disable, ",")
	}
	var bundles []*plan.Bundle
	for _, s := range variants {
		b, err := gen.Compile(s, disable)
		if err != nil {
			return err
		}
		bundles = append(bundles, b)
		if s.Serves(plan.ClassNVIDIA) {
			t.ptx[filepath.Join(folder, ptx.FileName(b.Name))] = b
		}
	}
	files, err := gen.Generate(variants[0], name, bundles, disable)
	if err != nil {
		return err
	}
	t.folders = append(t.folders, folder)
	for _, f := range files {
		t.files = append(t.files, golang.File{Name: filepath.Join(folder, f.Name), Data: f.Data})
	}
	return nil
}

// registry adds generated/zregistry.go: the packages of t and, for a single spec file,
// those of the others that are there already. With -all the others are orphans.
func (g *generateFlags) registry(t *tree, root string) error {
	marks, err := filepath.Glob(filepath.Join(root, "generated", "*", packageMark))
	if err != nil {
		return err
	}
	folders := slices.Clone(t.folders)
	for _, m := range marks {
		if g.all {
			t.folders = append(t.folders, filepath.Dir(m))
		} else {
			folders = append(folders, filepath.Dir(m))
		}
	}
	slices.Sort(t.folders)
	t.folders = slices.Compact(t.folders)
	var names []string
	for _, f := range folders {
		names = append(names, filepath.Base(f))
	}
	slices.Sort(names)
	f, err := golang.Registry(slices.Compact(names))
	if err != nil {
		return err
	}
	t.files = append(t.files, golang.File{Name: filepath.Join(root, "generated", f.Name), Data: f.Data})
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
