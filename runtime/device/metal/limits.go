package metal

import (
	"fmt"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// simdWidth is the number of threads in a simdgroup that the kernels are made for.
const simdWidth = 32

// PipelineLimits is what Metal says of the pipeline of one kernel function, and what
// dispatches ask of it. A kernel that needs many registers gets fewer threads: without
// Apple's tools that is the only sign of it (rule 25).
type PipelineLimits struct {
	Function          string
	Threads           int    // in a threadgroup of its dispatches
	MaxThreads        uint64 // maxTotalThreadsPerThreadgroup
	SimdWidth         uint64 // threadExecutionWidth
	ThreadgroupMemory uint64 // staticThreadgroupMemoryLength, bytes
	AtOnce            int    // of a persistent kernel recommendedPersistentThreadgroupsPerGrid; 0: the system does not say
	Err               error  // the pipeline could not be made; the rest is unknown
}

// Low says what is less than the dispatches need; nil: nothing is.
func (p *PipelineLimits) Low() error {
	switch {
	case p.Err != nil:
		return p.Err
	case p.SimdWidth != simdWidth:
		return fmt.Errorf("simdgroups of %d threads; the kernels need %d", p.SimdWidth, simdWidth)
	case uint64(p.Threads) > p.MaxThreads:
		return fmt.Errorf("%d threads in a threadgroup; this GPU allows %d, with %d bytes of threadgroup memory", p.Threads, p.MaxThreads, p.ThreadgroupMemory)
	}
	return nil
}

// asked is what a pipeline says of itself.
func (c *compiler) asked(function string, threads int, p mtl.Pipeline) PipelineLimits {
	l := PipelineLimits{Function: function, Threads: threads, MaxThreads: p.MaxThreads(), SimdWidth: p.SimdWidth(), ThreadgroupMemory: p.ThreadgroupMemory()}
	if c.persistent[function] && uint64(threads) <= l.MaxThreads {
		l.AtOnce = p.AtOnce(threads)
	}
	return l
}

// PipelineLimits makes the pipelines of the launcher's bundle that are wanted, those
// that pick tokens included, and asks each for its limits. Pipelines that dispatches
// could not run, or that cannot be made, are in the list too.
func (l *Launcher) PipelineLimits(b *plan.Bundle, wanted func(*plan.Variant) bool) []PipelineLimits {
	var list []PipelineLimits
	for i := range b.Kernels {
		k := &b.Kernels[i]
		for j := range k.Variants {
			if v := &k.Variants[j]; wanted(v) {
				list = append(list, l.compiler.limits(v.Func, k.Threads))
			}
		}
	}
	return list
}

// limits makes a pipeline, asks it, and releases it.
func (c *compiler) limits(function string, threads int) PipelineLimits {
	var list PipelineLimits
	err := mtl.Pool(func() error {
		p, err := c.make(function, true)
		defer p.Release()
		if err == nil {
			list = c.asked(function, threads, p)
		}
		return err
	})
	if err != nil {
		return PipelineLimits{Function: function, Threads: threads, Err: err}
	}
	return list
}
