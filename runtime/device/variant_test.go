package device

import (
	"errors"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// twoLayers returns a model with one weight in layers 1 and 2, Q4_0 and Q6_K, which one kernel reads with the
// cache.
func twoLayers() *Model {
	b := &plan.Bundle{
		Name:    "tiny",
		Weights: []plan.Weight{{Role: "mlp.down_proj", First: 1, Last: 3}},
		Kernels: []plan.Kernel{{
			Name: "down",
			Slots: []plan.Slot{
				{Space: plan.SpaceWeight, Elem: plan.ElemTyped},
				{Space: plan.SpaceArena, Elem: plan.ElemF32},
				{Space: plan.SpaceKV, Elem: plan.ElemTyped},
			},
			Variants: []plan.Variant{
				{Func: "a", Types: []quant.Type{quant.Q4_0, quant.F16}},
				{Func: "b", Types: []quant.Type{quant.Q4_0, quant.F32}},
			},
		}},
	}
	return &Model{
		Bundle:  b,
		Regions: [][]byte{make([]byte, 100)},
		Weights: [][]Weight{{
			{Tensor: "blk.1.ffn_down.weight", Offset: 0, Bytes: 50, Type: quant.Q4_0},
			{Tensor: "blk.2.ffn_down.weight", Offset: 50, Bytes: 50, Type: quant.Q6_K},
		}},
	}
}

func dispatch(layer int) *plan.Dispatch {
	return &plan.Dispatch{Layer: layer, Operands: []plan.Operand{{Space: plan.SpaceWeight}, {Space: plan.SpaceArena}, {Space: plan.SpaceKV}}}
}

func TestVariant(t *testing.T) {
	m := twoLayers()
	for kv, want := range map[quant.Type]string{quant.F16: "a", quant.F32: "b"} {
		if v, err := m.Variant(dispatch(1), kv); err != nil || v.Func != want {
			t.Errorf("%v: %v, %v", kv, v, err)
		}
	}
	_, err := m.Variant(dispatch(2), quant.F16)
	var v *VariantError
	if !errors.As(err, &v) {
		t.Fatalf("error %v", err)
	}
	want := `bundle tiny, kernel down, layer 2: blk.2.ffn_down.weight is q6_k, KV cache is f16; the bundle covers q4_0+f16, q4_0+f32.
To make a bundle with these types: mlagen -gguf FILE`
	if got := err.Error(); got != want {
		t.Errorf("message\n%s\nwant\n%s", got, want)
	}
	m.Bundle.Kernels[0].Variants = nil
	if _, err := m.Variant(dispatch(1), quant.F16); err == nil || !strings.Contains(err.Error(), "covers nothing") {
		t.Errorf("error %v", err)
	}
	if _, err := m.Variant(dispatch(3), quant.F16); err == nil || errors.As(err, &v) && v.Layer == 3 {
		t.Errorf("layer without the weight: %v", err)
	}
}

func TestLookup(t *testing.T) {
	for name, c := range map[string]struct {
		i, layer int
		bend     func(*Weight)
	}{
		"row":             {1, 1, nil},
		"negative row":    {-1, 1, nil},
		"layer before":    {0, 0, nil},
		"layer after":     {0, 3, nil},
		"no layer":        {0, -1, nil},
		"region":          {0, 1, func(w *Weight) { w.Region = 1 }},
		"negative offset": {0, 1, func(w *Weight) { w.Offset = -1 }},
		"negative bytes":  {0, 1, func(w *Weight) { w.Bytes = -1 }},
		"end":             {0, 1, func(w *Weight) { w.Bytes = 101 }},
		"overflow":        {0, 1, func(w *Weight) { w.Offset, w.Bytes = 1<<62, 1<<62 }},
	} {
		m := twoLayers()
		if c.bend != nil {
			c.bend(&m.Weights[0][0])
		}
		if w, err := m.Lookup(c.i, c.layer); err == nil {
			t.Errorf("%s: found %+v", name, w)
		}
	}
	m := twoLayers()
	if w, err := m.Lookup(0, 2); err != nil || w != m.At(0, 2) {
		t.Errorf("%v, %v", w, err)
	}
	m.Bundle.Weights[0].First = -1
	if w, err := m.Lookup(0, -1); err != nil || w != m.At(0, -1) {
		t.Errorf("%v, %v", w, err)
	}
}
