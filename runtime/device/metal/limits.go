package metal

import (
	"fmt"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// simdWidth is the number of threads per simdgroup that the kernels assume.
const simdWidth = 32

// PipelineLimits is what Metal reports of the pipeline of one kernel function, and what dispatches need. A
// kernel with many registers per thread allows fewer threads; without Apple's tools this is the only sign of
// register pressure (rule 25).
type PipelineLimits struct {
	Function          string
	Threads           int    // in a threadgroup of its dispatches
	MaxThreads        uint64 // maxTotalThreadsPerThreadgroup
	SimdWidth         uint64 // threadExecutionWidth
	ThreadgroupMemory uint64 // staticThreadgroupMemoryLength, bytes
	AtOnce            int    // of a persistent kernel, recommendedPersistentThreadgroupsPerGrid; 0: the system does not report it
	Err               error  // why the pipeline could not be created; then the limits are unknown
}

// Low says which limits are below the dispatches' needs; nil: none is.
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

// asked returns the limits that a pipeline reports.
func (c *compiler) asked(function string, threads int, p mtl.Pipeline) PipelineLimits {
	l := PipelineLimits{Function: function, Threads: threads, MaxThreads: p.MaxThreads(), SimdWidth: p.SimdWidth(), ThreadgroupMemory: p.ThreadgroupMemory()}
	if c.persistent[function] && uint64(threads) <= l.MaxThreads {
		l.AtOnce = p.AtOnce(threads)
	}
	return l
}

// PipelineLimits creates the pipelines of the wanted kernels of the launcher's bundle, including those that
// pick tokens, and returns their limits. The list includes pipelines that could not run the dispatches, or
// could not be created.
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

// limits creates a pipeline, reads its limits, and releases it.
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
