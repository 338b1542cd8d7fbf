package cpu

import (
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// record resolves the commands of the sequences that a configuration loads, and binds them.
func (r *runner) record(m *device.Model, l *device.Layout, cfg device.Config, workers int) (list []sequence, err error) {
	commands, err := m.Commands(l, cfg, "")
	if err != nil {
		return nil, err
	}
	for i := range commands.Sequences {
		s, err := r.sequence(m, &commands.Sequences[i], workers)
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// sequence binds one sequence and cuts it into phases. A phase ends before each dispatch with a barrier, and
// before the Head, where a replay can stop.
func (r *runner) sequence(m *device.Model, q *device.Recording, workers int) (sequence, error) {
	s := sequence{width: q.Width, work: q.Flops()}
	var open []kernel // of the phase that is being collected
	flush := func() error {
		if len(open) == 0 {
			return nil
		}
		ph, err := cut(open, workers)
		s.phases, open = append(s.phases, ph), nil
		return err
	}
	for i := range q.Commands {
		c := &q.Commands[i]
		if c.Dispatch.Barrier || i == q.Head {
			if err := flush(); err != nil {
				return s, err
			}
		}
		if i == q.Head {
			s.head = len(s.phases)
		}
		kernels, err := r.command(m, c)
		if err != nil {
			return s, fmt.Errorf("dispatch %d: %w", i, err)
		}
		open = append(open, kernels...)
	}
	if err := flush(); err != nil {
		return s, err
	}
	if q.Head == len(q.Commands) {
		s.head = len(s.phases)
	}
	if len(s.phases) > maxPhases {
		return s, fmt.Errorf("%d barriers; expected fewer than %d", len(s.phases), maxPhases)
	}
	return s, nil
}

// command binds the parts of one command.
func (r *runner) command(m *device.Model, c *device.Command) (kernels []kernel, err error) {
	k := c.Kernel
	b := binder{r: r, model: m, command: c}
	bind := b.bind
	if k.Width > 0 {
		bind = b.bindRows
	}
	for i, p := range k.Parts {
		t := bind(p)
		if k.Width > 0 && slices.ContainsFunc(k.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceWanted }) {
			t = ofWanted{t}
		}
		if b.err != nil {
			return nil, fmt.Errorf("kernel %s, layer %d, part %d (%T): %w", k.Name, c.Dispatch.Layer, i, p, b.err)
		}
		kernels = append(kernels, t)
	}
	return kernels, nil
}

// bind makes the CPU kernel of a part.
func (b *binder) bind(p plan.Part) kernel {
	switch p := p.(type) {
	case *plan.MatVec:
		return bindMatVec(b, p)
	case *plan.Experts:
		return bindExperts(b, p)
	case *plan.ExpertsSum:
		return bindExpertsSum(b, p)
	case *plan.StoreKV:
		return bindStoreKV(b, p)
	case *plan.Attend:
		return bindAttend(b, p)
	case *plan.Embed:
		return bindEmbed(b, p)
	case *plan.NormVec:
		return bindNormVec(b, p)
	case *plan.RopeVec:
		return bindRopeVec(b, p)
	case *plan.CombineVec:
		return bindCombineVec(b, p)
	case *plan.SwiGLUVec:
		return bindSwiGLUVec(b, p)
	case *plan.AddVec:
		return bindAddVec(b, p)
	case *plan.RouteVec:
		return bindRouteVec(b, p)
	case *plan.DeltaHeads:
		return bindDeltaHeads(b, p)
	case *plan.GatedNormVec:
		return bindGatedNorm(b, p)
	case *plan.GateHeads:
		return bindGateHeads(b, p)
	case *plan.WeightedSum:
		return bindWeightedSum(b, p)
	}
	b.fail("the CPU device has no kernel for it")
	return nil
}
