package metal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
)

// LibraryName is the file name of a bundle's compiled library. It carries a hash
// of the source, so that a library of another source is never taken for it.
func LibraryName(b *plan.Bundle) string { return stem(b) + ".metallib" }

func stem(b *plan.Bundle) string { return b.Name + "-" + b.SourceSum()[:12] }

// FromSource is the origin of kernels that were compiled when they were needed.
const FromSource = "compiled from source"

// Kernels come in three ways and are compiled alike on all of them: arithmetic as written,
// precise functions, nothing contracted. From source, the options of mtl.Device.NewLibrary
// ask for the first two; in make metallib, -fno-fast-math does (scripts/metallib.sh; a test
// holds its flags to the options). That nothing is contracted is a pragma of the source on
// both ways. An archive has no options of its own: it keeps what the GPU's compiler made of
// a library's functions, and whatever it lacks is made of those again.

// library takes kernels from a compiled library of the bundle's very source, or
// compiles them, with what they are made of and nothing else (rule 23). A compiled
// library only saves time, so one that cannot be loaded is passed over. origin is the
// library's path, or FromSource.
func (d *Device) library(gpu mtl.Device, b *plan.Bundle, functions []string) (l mtl.Library, origin string, err error) {
	if d.options.Compiled != "" {
		path := filepath.Join(d.options.Compiled, LibraryName(b))
		if _, err := os.Stat(path); err == nil {
			if l, err = gpu.NewLibraryFile(path); err == nil {
				return l, path, nil
			}
		}
	}
	source, err := pieces.Parse(b.Metal()).Cut(functions)
	if err != nil {
		return l, "", err
	}
	l, err = gpu.NewLibrary(source, mtl.Language3_1)
	return l, FromSource, err
}

// compiler makes pipelines from one library.
type compiler struct {
	gpu     mtl.Device
	library mtl.Library
	archive mtl.Archive // of pipelines that were made before; nil if there is none
	info    *Info
}

// pipelines makes the pipelines of a sequence on all cores. Those made before a
// failure are returned with it: they have to be released too. Samplers that a GPU
// cannot run, for instance with so many threads, are left out: the host picks tokens.
func (c *compiler) pipelines(s *sequence) ([]mtl.Pipeline, error) {
	made := make([]mtl.Pipeline, len(s.functions))
	errs := make([]error, len(s.functions))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(s.functions)) {
		workers.Go(func() {
			for i := range next {
				errs[i] = mtl.Pool(func() (err error) {
					made[i], err = c.pipeline(s.functions[i], s.threads[i])
					return err
				})
			}
		})
	}
	for i := range s.functions {
		next <- i
	}
	close(next)
	workers.Wait()
	for i, err := range errs {
		switch {
		case err != nil && i < s.needed:
			return made, fmt.Errorf("kernel %s: %w", s.functions[i], err)
		case err != nil:
			for i := range made[s.needed:] {
				made[s.needed+i].Release()
			}
			s.withoutSamplers()
			return made[:s.needed], nil
		}
	}
	return made, nil
}

// pipeline makes one pipeline and checks that it can run as planned.
func (c *compiler) pipeline(function string, threads int) (mtl.Pipeline, error) {
	p, err := c.make(function)
	if err != nil {
		return p, err
	}
	known := limits(function, threads, p)
	return p, c.info.failure(known.Low())
}

// make makes a pipeline.
func (c *compiler) make(function string) (mtl.Pipeline, error) {
	descriptor, err := c.library.NewDescriptor(function)
	if err != nil {
		return mtl.Pipeline{}, err
	}
	defer descriptor.Release()
	if !c.archive.Nil() {
		descriptor.UseArchive(c.archive)
	}
	p, err := c.gpu.NewPipeline(descriptor)
	return p, c.info.failure(err)
}
