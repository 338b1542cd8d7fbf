package cpu

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// record binds the sequences that a configuration loads.
func (r *runner) record(m *device.Model, cfg device.Config, workers int) ([]sequence, error) {
	var list []sequence
	for _, q := range m.Sequences(cfg) {
		s, err := r.sequence(m, &q, workers)
		if v := (*device.VariantError)(nil); errors.As(err, &v) {
			return nil, v
		}
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
		}
		list = append(list, s)
		r.expands = append(r.expands, m.Bundle.HeadsBytes(q.Dispatches) > 0)
	}
	return list, nil
}

// sequence binds one sequence and cuts it into phases. A phase ends before a dispatch
// with a barrier, and before the Head so that a replay can stop.
func (r *runner) sequence(m *device.Model, q *plan.Sequence, workers int) (sequence, error) {
	s := sequence{width: q.Width}
	var open []twin // of the phase being gathered
	flush := func() error {
		if len(open) == 0 {
			return nil
		}
		ph, err := cut(open, workers)
		s.phases, open = append(s.phases, ph), nil
		return err
	}
	for i := range q.Dispatches {
		if q.Dispatches[i].Barrier || i == q.Head {
			if err := flush(); err != nil {
				return s, err
			}
		}
		if i == q.Head {
			s.head = len(s.phases)
		}
		twins, err := r.dispatch(m, &q.Dispatches[i])
		if err != nil {
			return s, fmt.Errorf("dispatch %d: %w", i, err)
		}
		open = append(open, twins...)
	}
	if err := flush(); err != nil {
		return s, err
	}
	if q.Head == len(q.Dispatches) {
		s.head = len(s.phases)
	}
	if len(s.phases) > maxPhases {
		return s, fmt.Errorf("%d barriers; expected fewer than %d", len(s.phases), maxPhases)
	}
	return s, nil
}

// dispatch binds the parts of one dispatch.
func (r *runner) dispatch(m *device.Model, d *plan.Dispatch) (twins []twin, err error) {
	if d.Kernel < 0 || d.Kernel >= len(m.Bundle.Kernels) {
		return nil, fmt.Errorf("kernel %d of %d", d.Kernel, len(m.Bundle.Kernels))
	}
	k := &m.Bundle.Kernels[d.Kernel]
	if len(d.Operands) != len(k.Slots) {
		return nil, fmt.Errorf("kernel %s: %d operands for %d slots", k.Name, len(d.Operands), len(k.Slots))
	}
	for i := range k.Slots {
		if d.Operands[i].Space != k.Slots[i].Space {
			return nil, fmt.Errorf("kernel %s, slot %s: operand in space %d; expected %d", k.Name, k.Slots[i].Name, d.Operands[i].Space, k.Slots[i].Space)
		}
	}
	if _, err := m.Variant(d, r.kv); err != nil {
		return nil, err
	}
	b := binder{r: r, model: m, d: d, kernel: k}
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
			return nil, fmt.Errorf("kernel %s, layer %d, part %d (%T): %w", k.Name, d.Layer, i, p, b.err)
		}
		twins = append(twins, t)
	}
	return twins, nil
}

// bind makes the twin of a part.
func (b *binder) bind(p plan.Part) twin {
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
	case *plan.WeightedSum:
		return bindWeightedSum(b, p)
	}
	b.fail("the CPU device has no twin for it")
	return nil
}
