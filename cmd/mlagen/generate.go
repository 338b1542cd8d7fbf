package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mla/gen"
	"mla/gen/golang"
	"mla/gen/msl"
	"mla/gen/spec"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// errDrift is returned by -check if generated files on disk are out of date.
var errDrift = errors.New("generated files are out of date")

// packageMark is the file that every folder of generated bundles has.
const packageMark = "zmodel.go"

type generateFlags struct {
	spec, out, act, class    string
	tunings                  []string
	disable                  string
	all, check, diff, dryRun bool
	bundle                   bundleFlags
}

func newGenerate() *cobra.Command {
	var g generateFlags
	c := command("mlagen -spec F | -all | -gguf F", "compile the spec of an MLA model", g.run)
	c.Long = `mlagen compiles the spec of an MLA model into Metal kernels and Go dispatch tables.

  mlagen -gguf F           writes a bundle file, which mlarun takes, beside a model file:
                           my.mla for my.gguf
  mlagen -spec F -o F.mla  the same from a spec
  mlagen -spec F           writes the spec's bundles to generated/STEM: STEM for activations f32,
                           STEMf16 for f16; STEMnvidia and so on for classes of devices that
                           its tuning names
  mlagen -spec F -out DIR  writes one bundle to DIR, a folder without other bundles, for this
                           module or any other
  mlagen -all              every spec in specs/, and the registry`
	c.Example = `  mlagen -gguf my.gguf
  mlagen -spec specs/glm47flash.yaml -check
  mlagen init -gguf my.gguf -o specs/my.yaml
  mlagen describe specs/my.yaml -html plan.html`
	f := c.Flags()
	f.StringVar(&g.bundle.gguf, "gguf", "", "compile for a model `file`, or for hf://user/repo[:QUANT], a model of the Hugging Face hub, which is loaded once; its bundle file goes where -install puts it")
	preFlag(f, &g.bundle.pre)
	f.StringVar(&g.spec, "spec", "", "compile the spec in this `file`")
	f.BoolVar(&g.all, "all", false, "compile every spec in specs/")
	f.StringVarP(&g.bundle.out, "output", "o", "", "with -gguf or -spec: the bundle `file`, which ends in .mla")
	f.BoolVar(&g.bundle.install, "install", false, "with -gguf or -spec: put the bundle file where mlarun looks for any model")
	f.BoolVar(&g.bundle.ptx, "ptx", false, "into the bundle file, kernels for NVIDIA GPUs; needs clang-19")
	f.BoolVar(&g.bundle.metallib, "metallib", false, "into the bundle file, kernels compiled by Apple's compiler; needs a Mac with Xcode")
	f.StringSliceVar(&g.tunings, "tuning", nil, "with -spec: tuning `files` in place of those in the folder tuning beside the spec, NAME.yaml or NAME.CLASS.yaml")
	f.StringVar(&g.out, "out", "", "with -spec: the `folder` for one bundle as a Go package")
	f.StringVar(&g.act, "act", "", "`types` of activations: with -gguf f32,f16 or one of them, with -out f32 or f16 (default: the spec's first)")
	f.StringVar(&g.class, "class", "", "with -out: `devices` that the shapes are for, apple or nvidia (default: any)")
	f.StringVar(&g.disable, "disable", "", "`fusions` to leave out, separated by commas; mlagen dump -passes lists them")
	f.BoolVar(&g.check, "check", false, "with -spec or -all: compare with the files on disk; exit 3 and the fixing command on drift")
	f.BoolVar(&g.diff, "diff", false, "with -spec or -all: print what would change")
	f.BoolVarP(&g.dryRun, "dry-run", "n", false, "with -spec or -all: name the files that would be written, write nothing")
	return c
}

// preFlag declares -pre.
func preFlag(f *pflag.FlagSet, name *string) {
	f.StringVar(name, "pre", "", "with -gguf: `name` of the pre-tokeniser, in place of the file's key tokenizer.ggml.pre: "+strings.Join(gguf.PreTokenizers(), ", "))
}

func (g *generateFlags) run(stdout, notes io.Writer) error {
	if g.tunings != nil && g.spec == "" {
		return fmt.Errorf("%w: -tuning goes with -spec", errUsage)
	}
	if g.bundle.wanted() {
		return g.runBundle(stdout)
	}
	switch {
	case !g.all && g.spec == "":
		return fmt.Errorf("%w: nothing to do; give -spec F, -all or -gguf F", errUsage)
	case g.all && g.spec != "":
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
		return g.checkFiles(want, stdout, notes)
	case g.diff:
		return printDiff(want, stdout)
	case g.dryRun:
		return printNames(want, stdout)
	}
	return want.write(stdout)
}

// files generates the files that the flags ask for.
func (g *generateFlags) files() (*tree, error) {
	t := newTree()
	if g.out != "" {
		s, err := variant(g.spec, g.act, g.class, g.tunings...)
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
	if t.tests, err = referenceNames(root); err != nil {
		return nil, err
	}
	if t.library, err = msl.Library(); err != nil {
		return nil, err
	}
	paths := []string{g.spec}
	if g.all {
		if paths = all; len(all) == 0 { // otherwise every bundle would be removed as an orphan
			return nil, fmt.Errorf("mlagen: no specs in %s", filepath.Join(root, "specs"))
		}
	}
	if err := clash(append(all, paths...)); err != nil {
		return nil, err
	}
	for _, path := range paths {
		s, err := spec.Load(path, g.tunings...)
		if err != nil {
			return nil, err
		}
		if err := g.pkg(t, folderOf(root, s), spec.Name(s.File), s.Variants()); err != nil {
			return nil, err
		}
	}
	return t, g.registry(t, root)
}

// folderOf returns the folder of a spec's bundles.
func folderOf(root string, s *spec.Spec) string {
	return filepath.Join(root, "generated", spec.Name(s.File))
}

// specFiles lists the project's specs: specs/*.yaml.
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

// variants loads all specs and returns one variant per bundle.
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

// variant loads the variant of a spec with the activations act (empty: the first) for a device class (empty:
// any).
func variant(path, act, class string, tunings ...string) (*spec.Spec, error) {
	if class != "" && !slices.Contains(plan.Classes, class) {
		return nil, fmt.Errorf("%w: -class is %q; expected %s", errUsage, class, strings.Join(plan.Classes, " or "))
	}
	if act != "" && !slices.Contains(spec.Activations, act) {
		return nil, fmt.Errorf("%w: -act is %q; expected %s", errUsage, act, strings.Join(spec.Activations, " or "))
	}
	s, err := spec.Load(path, tunings...)
	if err != nil {
		return nil, err
	}
	if act != "" {
		s = s.WithActivations(act)
	}
	return s.WithClass(class), nil
}

// clash refuses two specs that make bundles of the same name: one would replace the other.
func clash(paths []string) error {
	owner := map[string]string{}
	for _, path := range paths {
		file, names := filepath.Base(path), []string{spec.Name(path)}
		if s, err := spec.Load(path); err == nil { // an error in one spec must not keep others from compiling
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

// pkg generates one Go package: the bundles of some variants of a spec.
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
		t.bundles = append(t.bundles, b.Name)
		if s.Serves(plan.ClassNVIDIA) {
			t.ptx[ptxPath(folder, b.Name, slices.Contains(t.tests, name))] = b
		}
	}
	files, err := gen.Generate(variants[0], name, bundles, disable, t.library)
	if err != nil {
		return err
	}
	t.folders = append(t.folders, folder)
	t.specs++
	for _, f := range files {
		t.files = append(t.files, golang.File{Name: filepath.Join(folder, f.Name), Data: f.Data})
	}
	return nil
}

// registry adds generated/library.metal, zregistry.go and zreference.go. They list the packages of t and, if
// a single spec is compiled, the packages that already exist. With -all every other package is an orphan.
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
	var shipped, reference []string
	for _, n := range slices.Compact(names) {
		if slices.Contains(t.tests, n) {
			reference = append(reference, n)
		} else {
			shipped = append(shipped, n)
		}
	}
	files, err := golang.Registry(shipped, reference)
	files = append(files, golang.File{Name: "library.metal", Data: []byte(t.library.Text(headerMark + "templates/msl/lib. DO NOT EDIT."))})
	for _, f := range files {
		t.files = append(t.files, golang.File{Name: filepath.Join(root, "generated", f.Name), Data: f.Data})
	}
	return err
}

// referenceNames lists the specs of specs/reference.txt, which only tests run.
func referenceNames(root string) (names []string, err error) {
	data, err := os.ReadFile(filepath.Join(root, "specs", "reference.txt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			names = append(names, line)
		}
	}
	return names, nil
}

// moduleRoot returns the folder of this module's go.mod: the working directory or a parent of it.
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
