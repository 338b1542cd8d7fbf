package cpu

import (
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/plan"
)

// record binds the decode sequence and cuts it into phases. A phase ends before
// a dispatch with a barrier, and before Bundle.Head so that a replay can stop.
func (r *runner) record(m *device.Model, workers int) ([]phase, error) {
	b := m.Bundle
	if b.Head < 0 || b.Head > len(b.Decode) {
		return nil, fmt.Errorf("bundle %s: the head begins at dispatch %d of %d", b.Name, b.Head, len(b.Decode))
	}
	var phases []phase
	var open []twin // of the phase being gathered
	flush := func() error {
		if len(open) == 0 {
			return nil
		}
		ph, err := cut(open, workers)
		phases, open = append(phases, ph), nil
		return err
	}
	for i := range b.Decode {
		if b.Decode[i].Barrier || i == b.Head {
			if err := flush(); err != nil {
				return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
			}
		}
		if i == b.Head {
			r.head = len(phases)
		}
		twins, tails, err := r.dispatch(m, &b.Decode[i])
		if v := (*device.VariantError)(nil); errors.As(err, &v) {
			return nil, v
		}
		if err != nil {
			return nil, fmt.Errorf("bundle %s, dispatch %d: %w", b.Name, i, err)
		}
		open = append(open, twins...)
		if len(tails) > 0 { // a phase is what the last threadgroup to arrive has to wait for
			if err := flush(); err != nil {
				return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
			}
			open = tails
		}
	}
	if err := flush(); err != nil {
		return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
	}
	if b.Head == len(b.Decode) {
		r.head = len(phases)
	}
	if len(phases) > maxPhases {
		return nil, fmt.Errorf("bundle %s: %d barriers; expected fewer than %d", b.Name, len(phases), maxPhases)
	}
	return phases, nil
}

// dispatch binds the parts of one dispatch, and those of its tails.
func (r *runner) dispatch(m *device.Model, d *plan.Dispatch) (twins, tails []twin, err error) {
	if d.Kernel < 0 || d.Kernel >= len(m.Bundle.Kernels) {
		return nil, nil, fmt.Errorf("kernel %d of %d", d.Kernel, len(m.Bundle.Kernels))
	}
	k := &m.Bundle.Kernels[d.Kernel]
	if len(d.Operands) != len(k.Slots) {
		return nil, nil, fmt.Errorf("kernel %s: %d operands for %d slots", k.Name, len(d.Operands), len(k.Slots))
	}
	for i := range k.Slots {
		if d.Operands[i].Space != k.Slots[i].Space {
			return nil, nil, fmt.Errorf("kernel %s, slot %s: operand in space %d; expected %d", k.Name, k.Slots[i].Name, d.Operands[i].Space, k.Slots[i].Space)
		}
	}
	if _, err := m.Variant(d, r.kv); err != nil {
		return nil, nil, err
	}
	b := binder{r: r, model: m, d: d, kernel: k}
	for i, p := range k.AllParts() {
		t := b.bind(p)
		if b.err != nil {
			return nil, nil, fmt.Errorf("kernel %s, layer %d, part %d (%T): %w", k.Name, d.Layer, i, p, b.err)
		}
		twins = append(twins, t)
	}
	return twins[:len(k.Parts)], twins[len(k.Parts):], nil
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
