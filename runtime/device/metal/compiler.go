package metal

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// compiler creates pipelines from one library.
type compiler struct {
	gpu     mtl.Device
	library mtl.Library
	archive mtl.Archive // pipelines of an earlier run; nil: there are none
	info    *Info
	// persistent has the functions of persistent kernels.
	persistent map[string]bool
	// spares allows a pipeline without support for indirect command buffers where one with it cannot be
	// created.
	spares bool
	direct atomic.Pointer[kernelError] // the error with such support, of one pipeline that was created without it
}

// persistent returns the functions of a bundle's persistent kernels.
func persistent(b *plan.Bundle) map[string]bool {
	list := map[string]bool{}
	for i := range b.Kernels {
		for _, v := range b.Kernels[i].Variants {
			list[v.Func] = b.Kernels[i].Persistent()
		}
	}
	return list
}

// kernelError says which kernel a GPU cannot run, and why.
type kernelError struct {
	function string
	err      error
}

func (e *kernelError) Error() string { return fmt.Sprintf("kernel %s: %v", e.function, e.err) }
func (e *kernelError) Unwrap() error { return e.err }

// kernelsError lists such errors in the order of the sequence's functions.
type kernelsError []*kernelError

func (e kernelsError) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	return fmt.Sprintf("%v; %d more kernels fail", e[0], len(e)-1)
}

func (e kernelsError) Unwrap() error { return e[0] }

// has says whether the function has failed.
func (e kernelsError) has(function string) bool {
	for _, k := range e {
		if k.function == function {
			return true
		}
	}
	return false
}

// each calls f for the index of every function, in parallel on all cores, and returns the failures.
func each(functions []string, f func(i int) error) (failed kernelsError) {
	errs := make([]error, len(functions))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(functions)) {
		workers.Go(func() {
			for i := range next {
				errs[i] = mtl.Pool(func() error { return f(i) })
			}
		})
	}
	for i := range functions {
		next <- i
	}
	close(next)
	workers.Wait()
	for i, err := range errs {
		if err != nil {
			failed = append(failed, &kernelError{functions[i], err})
		}
	}
	return failed
}

// pipelines creates the pipelines of a sequence. After an error, too, the caller must release those that it
// returns. Kernels of the sampler that the GPU cannot run, for instance because of their number of threads,
// are left out; the host then picks tokens.
func (c *compiler) pipelines(s *sequence) ([]mtl.Pipeline, error) {
	made := make([]mtl.Pipeline, len(s.functions))
	failed := each(s.functions, func(i int) (err error) {
		made[i], err = c.pipeline(s.functions[i], s.threads[i])
		return err
	})
	switch {
	case len(failed) == 0:
		return made, nil
	case !s.canSpare(failed):
		return made, failed
	}
	for i := range made[s.needed:] {
		made[s.needed+i].Release()
	}
	s.withoutSampler()
	return made[:s.needed], nil
}

// pipeline creates one pipeline, and checks that it can run with a number of threads.
func (c *compiler) pipeline(function string, threads int) (mtl.Pipeline, error) {
	p, err := c.make(function, true)
	if err != nil && c.spares {
		why := err
		if p, err = c.make(function, false); err == nil {
			c.direct.Store(&kernelError{function, why})
		}
	}
	if err != nil {
		return p, err
	}
	known := c.asked(function, threads, p)
	return p, c.info.failure(known.Low())
}

// make creates a pipeline.
func (c *compiler) make(function string, indirect bool) (mtl.Pipeline, error) {
	descriptor, err := c.library.NewDescriptor(function, indirect, c.persistent[function])
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

// alone compiles each function by itself, and returns those that the system's compiler refuses.
func (d *Device) alone(gpu mtl.Device, b *plan.Bundle, functions []string) kernelsError {
	return each(functions, func(i int) error {
		l, _, err := d.library(gpu, b, functions[i:i+1])
		l.Release()
		return err
	})
}
