package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/checkup"
	"mla/runtime/plan"
)

// ready makes the kernels of one bundle ready: of the model file, of the shipped model,
// or of the smallest model. used are the functions that the file needs, or all.
// Without a bundle for this device l is nil.
func (x *examination) ready() (l device.Launcher, done func(), b *plan.Bundle, used []string, err error) {
	if path, missing := x.flags.modelFile(); missing == nil {
		c, err := x.needs(path)
		if err != nil {
			return nil, nil, nil, nil, err
		}
		b, used = c.bundle, c.used
	} else if list, err := x.bundles(); err != nil {
		return nil, nil, nil, nil, err
	} else if len(list) > 0 {
		b = list[0]
		for i := range b.Kernels {
			for _, v := range b.Kernels[i].Variants {
				used = append(used, v.Func)
			}
		}
	}
	if b == nil {
		x.Write(checkup.Skip, x.stage.name, "there is no bundle for this device")
		return nil, nil, nil, nil, nil
	}
	x.Write(checkup.Now, "kernels of "+b.Name, "")
	l, done, err = x.patient.launcher(b, used)
	return l, done, b, used, err
}

// compile says how long that takes.
func (x *examination) compile() error {
	start := time.Now()
	l, done, b, used, err := x.ready()
	if err != nil || l == nil {
		return err
	}
	defer done()
	if c, ok := l.(interface {
		Compile(functions []string) error
	}); ok {
		if err := c.Compile(used); err != nil {
			return err
		}
	}
	text := ""
	if o, ok := l.(interface{ Origin() string }); ok {
		text = ", " + o.Origin()
	}
	x.Write(checkup.Fact, "kernels of "+b.Name, "ready in %.2f s%s", time.Since(start).Seconds(), text)
	x.Write(checkup.Pass, x.stage.name, "")
	return nil
}

// pipelineLimits says what Metal's compiler leaves to every kernel. Fewer threads than
// most kernels may have are the only sign of registers that spill (rule 25).
func (x *examination) pipelineLimits() error {
	l, done, b, used, err := x.ready()
	if err != nil || l == nil {
		return err
	}
	defer done()
	list := l.(*metal.Launcher).PipelineLimits(b, func(v *plan.Variant) bool { return slices.Contains(used, v.Func) })
	most := uint64(0)
	for _, p := range list {
		most = max(most, p.MaxThreads)
	}
	var fewer []metal.PipelineLimits
	for _, p := range list {
		if low := p.Low(); low != nil && x.patient.virtual() {
			x.Write(checkup.Skip, p.Function, "not able: %v", low)
			continue
		} else if low != nil {
			x.Write(checkup.Fail, p.Function, "%v", low)
			continue
		}
		x.Write(checkup.Pass, p.Function, "%d threads of at most %d, in simdgroups of %d; %d B of threadgroup memory", p.Threads, p.MaxThreads, p.SimdWidth, p.ThreadgroupMemory)
		if p.MaxThreads < most {
			fewer = append(fewer, p)
		}
	}
	x.Write(checkup.Fact, "threads per threadgroup", "%d for %d of %d kernels of %s", most, len(list)-len(fewer)-x.Failed(), len(list), b.Name)
	slices.SortStableFunc(fewer, func(a, b metal.PipelineLimits) int { return cmp.Compare(a.MaxThreads, b.MaxThreads) })
	var names []string
	for _, p := range fewer {
		names = append(names, fmt.Sprintf("%s %d (takes %d)", p.Function, p.MaxThreads, p.Threads))
	}
	if len(names) > 0 {
		x.Write(checkup.Fact, "fewer threads", "%s", strings.Join(names, ", "))
	}
	return nil
}
