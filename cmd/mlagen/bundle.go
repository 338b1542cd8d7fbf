package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mla/gen"
	"mla/gen/initspec"
	"mla/gen/metallib"
	"mla/gen/ptx"
	"mla/gen/spec"
	"mla/runtime/gguf"
	"mla/runtime/load/hub"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
)

// bundleFlags are the flags that select which bundle file is written, and where.
type bundleFlags struct {
	gguf, pre, out         string
	install, ptx, metallib bool
}

// wanted reports whether a bundle file is asked for instead of Go tables.
func (f *bundleFlags) wanted() bool { return *f != bundleFlags{} }

// runBundle writes the bundle file of a model file or of a spec.
func (g *generateFlags) runBundle(stdout io.Writer) error {
	f := &g.bundle
	switch {
	case (f.gguf == "") == (g.spec == ""):
		return fmt.Errorf("%w: give either -gguf F or -spec F for a bundle file", errUsage)
	case g.all || g.out != "" || g.class != "" || g.disable != "" || g.check || g.diff || g.dryRun:
		return fmt.Errorf("%w: a bundle file goes with -act, -ptx, -metallib, -install and -o alone", errUsage)
	case g.spec != "" && g.act != "":
		return fmt.Errorf("%w: a spec says which activations its bundles have", errUsage)
	case f.pre != "" && f.gguf == "":
		return fmt.Errorf("%w: -pre goes with -gguf; a spec names its tokenizer", errUsage)
	case f.install && f.out != "":
		return fmt.Errorf("%w: -install says where the file goes; leave out -o", errUsage)
	case f.out != "" && filepath.Ext(f.out) != bundlefile.Suffix:
		return fmt.Errorf("%w: -o is %q; expected a name that ends in %s", errUsage, f.out, bundlefile.Suffix)
	}
	if err := f.local(); err != nil {
		return err
	}
	path, err := f.path(g.spec)
	if err != nil {
		return err
	}
	s, text, err := g.bundleSpec()
	if err != nil {
		return err
	}
	file, err := f.compile(s, text)
	if err != nil {
		return err
	}
	data, err := bundlefile.Encode(file)
	if err != nil {
		return err
	}
	if err := bundlefile.Write(path, data); err != nil {
		return err
	}
	for _, b := range file.Bundles {
		fmt.Fprintf(stdout, "%s: %s, %d kernels%s\n", b.Name, b.Kind(), len(b.Kernels), parts(file, b.Name))
	}
	_, err = fmt.Fprintf(stdout, "wrote %s (%d bytes)\n", path, len(data))
	return err
}

// local replaces the name of a Hugging Face model by the path of its file. The bundle of a model in the hub's
// cache goes to the user's bundle folder unless -o is given, because only the hub's own files belong in its
// cache.
func (f *bundleFlags) local() (err error) {
	if f.gguf, err = localModel(f.gguf); err != nil {
		return err
	}
	if path, err := filepath.Abs(f.gguf); f.gguf != "" && f.out == "" && err == nil && hub.Cached(path) {
		f.install = true
	}
	return nil
}

// parts lists what a bundle file contains of a bundle besides its plan and its Metal source.
func parts(f *bundlefile.File, bundle string) (text string) {
	if f.PTX[bundle] != nil {
		text += ", PTX"
	}
	if f.Metal[bundle] != nil {
		text += ", a Metal library"
	}
	return text
}

// path returns the path of the bundle file. The default is beside the model or the spec.
func (f *bundleFlags) path(spec string) (string, error) {
	beside := bundlefile.Beside(f.gguf)
	if f.gguf == "" {
		beside = spec[:len(spec)-len(filepath.Ext(spec))] + bundlefile.Suffix
	}
	switch {
	case f.out != "":
		return f.out, nil
	case !f.install:
		return beside, nil
	}
	folder, err := bundlefile.Folder()
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, filepath.Base(beside)), os.MkdirAll(folder, 0o755)
}

// bundleSpec returns the spec to compile and its text. Both are read from -spec, or generated from the header
// of the model file.
func (g *generateFlags) bundleSpec() (s *spec.Spec, text []byte, err error) {
	if g.spec != "" {
		if s, err = spec.Load(g.spec, g.tunings...); err != nil {
			return nil, nil, err
		}
		return s, s.Text, nil
	}
	activations, err := actList(g.act)
	if err != nil {
		return nil, nil, err
	}
	file, err := openModel(g.bundle.gguf, g.bundle.pre)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	name := initspec.Name(g.bundle.gguf) + ".yaml"
	if text, err = initspec.Generate(file, name, activations...); err != nil {
		return nil, nil, err
	}
	s, err = spec.Parse(name, text)
	return s, text, err
}

// openModel opens a model file. pre, if it is not empty, replaces the name of its pre-tokeniser.
func openModel(path, pre string) (*gguf.File, error) {
	file, err := gguf.Open(path)
	if err == nil && pre != "" {
		file.Set(gguf.PreKey, gguf.String(pre))
	}
	return file, err
}

// compile compiles all bundles of a spec, and their PTX and Metal libraries if the flags ask for them.
func (f *bundleFlags) compile(s *spec.Spec, text []byte) (*bundlefile.File, error) {
	file := &bundlefile.File{Spec: text, PTX: map[string][]byte{}, Metal: map[string][]byte{}}
	for _, v := range s.Portable() {
		b, err := gen.Compile(v, nil)
		if err != nil {
			return nil, err
		}
		file.Bundles = append(file.Bundles, b)
		if f.ptx && v.Serves(plan.ClassNVIDIA) {
			if file.PTX[b.Name], err = ptx.Build(b); err != nil {
				return nil, err
			}
		}
		if f.metallib && v.Class == plan.ClassApple {
			if file.Metal[b.Name], err = metallib.Build(b); err != nil {
				return nil, err
			}
		}
	}
	return file, nil
}
