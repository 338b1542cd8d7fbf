package cuda

import (
	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
)

// stage is the launches between two barriers, which may run concurrently.
type stage struct {
	commands []device.Command
	launches []cu.Launch
}

// stages returns the commands with all addresses, cut at barriers.
func stages(list []device.Command, o *code, m *memory) []stage {
	var all []stage
	first := 0
	for i := range list {
		c := &list[i]
		if c.Dispatch.Barrier || i == 0 {
			first = i
			all = append(all, stage{})
		}
		l := cu.Launch{Kernel: o.kernels[c.Variant.Func], Groups: c.Groups, Threads: c.Kernel.Threads}
		for j := range c.Bindings {
			l.Params = append(l.Params, m.address(&c.Bindings[j]))
		}
		last := &all[len(all)-1]
		last.commands, last.launches = list[first:i+1], append(last.launches, l)
	}
	return all
}

// record makes an executable graph in which every stage waits for all launches of the previous stage, and so
// for all earlier work. It is the only place that creates dependencies. If one kernel follows a single other
// one, it begins early: it loads its weights while the other ends, and waits for the other's end at
// GRID_WAIT. All kernels wait like this, so at GRID_WAIT all earlier kernels have ended, too; that is why
// layers can share the tickets of persistent threadgroups. checkEager in gen/ptx checks what a kernel may
// read before it waits.
func record(stages []stage) (exec cu.Exec, err error) {
	g, err := cu.NewGraph()
	if err != nil {
		return exec, err
	}
	defer func() {
		if e := g.Destroy(); err == nil {
			err = e
		}
	}()
	var before, now []cu.Node
	for _, s := range stages {
		before, now = now, nil
		early := len(s.launches) == 1 && len(before) == 1
		for i := range s.launches {
			after := before
			if early {
				after = nil
			}
			node, err := g.Add(&s.launches[i], after)
			if err != nil {
				return exec, err
			}
			if early {
				if err := g.Early(before[0], node); err != nil {
					return exec, err
				}
			}
			now = append(now, node)
		}
	}
	return g.Instantiate()
}
