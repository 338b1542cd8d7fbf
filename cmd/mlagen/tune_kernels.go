package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mla/gen/ptx"
	"mla/gen/tune"
	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
	"mla/runtime/quant"
	"mla/runtime/system/atomicfile"
)

// cacheType is the element type of the latent cache during measurements.
const cacheType = quant.F16

// kernelCache keeps the PTX of single kernels in a folder. The key of a kernel is the hash of clang's input,
// so a kernel is compiled once even if other kernels of its bundle change.
type kernelCache struct {
	dir   string
	texts map[string]string // PTX that was read, by key
}

func newKernelCache(dir string) (*kernelCache, error) {
	return &kernelCache{dir, map[string]string{}}, os.MkdirAll(dir, 0o755)
}

func (c *kernelCache) path(key string) string { return filepath.Join(c.dir, ptxfile.FileName(key)) }

// bundle returns the PTX of all kernels of a trial's bundle. Missing kernels are compiled.
func (c *kernelCache) bundle(b *plan.Bundle) (string, error) {
	pieces, err := keyed(b)
	if err != nil {
		return "", err
	}
	if err := c.compile(pieces); err != nil {
		return "", err
	}
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(pieces)) {
		text, err := c.text(key, pieces[key])
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return ptx.Join(texts)
}

// keyed splits a bundle into bundles of one kernel each, by their keys.
func keyed(b *plan.Bundle) (map[string]*plan.Bundle, error) {
	pieces, err := tune.Pieces(b, cacheType)
	if err != nil {
		return nil, err
	}
	byKey := map[string]*plan.Bundle{}
	for _, p := range pieces {
		key, err := ptx.Key(p)
		if err != nil {
			return nil, err
		}
		byKey[key] = p
	}
	return byKey, nil
}

// compile compiles the kernels that are not in the folder, on all CPU cores.
func (c *kernelCache) compile(pieces map[string]*plan.Bundle) error {
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(pieces)) {
		if _, err := os.Stat(c.path(key)); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, key)
		} else if err != nil {
			return err
		}
	}
	return each(missing, func(key string) error {
		file, err := ptx.Build(pieces[key])
		if err != nil {
			return fmt.Errorf("%s has no kernel %s of this shape; make it with -compile-only and the same flags where clang is: %w", c.dir, pieces[key].Kernels[0].Name, err)
		}
		return atomicfile.Write(c.path(key), file)
	})
}

// text returns the PTX of one kernel.
func (c *kernelCache) text(key string, piece *plan.Bundle) (string, error) {
	if text, ok := c.texts[key]; ok {
		return text, nil
	}
	file, err := os.ReadFile(c.path(key))
	if err != nil {
		return "", err
	}
	if err := ptx.Check(piece, file); err != nil {
		return "", fmt.Errorf("%s: %w; delete it", c.path(key), err)
	}
	text, err := ptx.Text(file)
	if err == nil {
		c.texts[key] = text
	}
	return text, err
}

// compileAll compiles every kernel that a search over the knobs can ask for.
func (t *tuneFlags) compileAll(rigs []*rig, knobs []tune.Knob, stdout io.Writer) error {
	c, err := newKernelCache(t.cache)
	if err != nil {
		return err
	}
	all := map[string]*plan.Bundle{}
	for _, r := range rigs {
		for _, choice := range tune.Cover(knobs) {
			b, _, err := tune.Trial(r.spec, tune.Tuning(r.spec.Tuning, knobs, choice))
			if err != nil {
				return err
			}
			pieces, err := keyed(b)
			if err != nil {
				return err
			}
			maps.Copy(all, pieces)
		}
	}
	if err := c.compile(all); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s has all %d kernels; next, where the GPU is: mlagen tune with the same -quant, -act, -kernels, -depth and -rounds, and -device cuda -cache\n", t.cache, len(all))
	return nil
}
