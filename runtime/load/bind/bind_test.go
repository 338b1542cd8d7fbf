package bind

import (
	"testing"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// entry decodes one head or expert of a bound weight.
func entry(m *device.Model, w *device.Weight, row *plan.Weight, e int) []float32 {
	out := make([]float32, row.Cols*row.Rows)
	at := w.Offset + int64(e)*w.BatchStride
	mustLookup(w.Type).Dequantize(out, m.Regions[w.Region][at:w.Offset+w.Bytes])
	return out
}

// weight binds f and returns the weight of a role in a layer.
func weight(t *testing.T, f *testFile, role string, layer int) (m *device.Model, w *device.Weight, row *plan.Weight, ref func(string) []float32) {
	t.Helper()
	file, b := f.open(t), testBundle("b")
	m, err := Resolve(file).Bind(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Weights {
		if b.Weights[i].Role == role {
			w, err := m.Lookup(i, layer) // checks that the weight lies in its region
			if err != nil {
				t.Fatal(err)
			}
			return m, w, &b.Weights[i], func(name string) []float32 { return values(t, file, name) }
		}
	}
	t.Fatalf("no role %s", role)
	return
}

func TestBindWhole(t *testing.T) {
	for _, typ := range []quant.Type{quant.F32, quant.Q8_0} {
		f := newFile()
		f.retype("attn_v_b", typ)
		m, w, row, ref := weight(t, f, "self_attn.v_b_proj", 1)
		if len(m.Regions) != 1 || w.Region != 0 || w.Type != typ {
			t.Errorf("%s: %d regions, %+v; want a view of the file", typ, len(m.Regions), w)
		}
		want := ref("blk.1.attn_v_b.weight")
		for h := range heads {
			if !equal(entry(m, w, row, h), want[h*latent*vdim:(h+1)*latent*vdim]) {
				t.Errorf("%s: head %d differs", typ, h)
			}
		}
	}
}

func TestBindFusedExperts(t *testing.T) {
	const size = hidden * expertFF
	for part, role := range []string{"mlp.experts.gate_proj", "mlp.experts.up_proj"} {
		f := newFile()
		f.remove("ffn_gate_exps")
		f.remove("ffn_up_exps")
		f.add("blk.1.ffn_gate_up_exps.weight", quant.Q8_0, hidden, 2*expertFF, experts)
		m, w, row, ref := weight(t, f, role, 1)
		want := ref("blk.1.ffn_gate_up_exps.weight")
		for e := range experts {
			at := (2*e + part) * size
			if !equal(entry(m, w, row, e), want[at:at+size]) {
				t.Errorf("%s: expert %d differs", role, e)
			}
		}
	}
}

func TestBindLegacyValues(t *testing.T) {
	f := newFile()
	f.legacy(quant.Q8_0)
	m, w, row, ref := weight(t, f, "self_attn.v_b_proj", 1)
	want := ref("blk.1.attn_kv_b.weight")
	if w.Region != 0 || w.Type != quant.Q8_0 {
		t.Errorf("%+v; want a view of the file", w)
	}
	for h := range heads {
		at := (h*(nope+vdim) + nope) * latent
		if !equal(entry(m, w, row, h), want[at:at+vdim*latent]) {
			t.Errorf("head %d differs", h)
		}
	}
}

func TestBindLegacyKeys(t *testing.T) {
	tests := []struct{ file, bound quant.Type }{
		{quant.F32, quant.F32}, {quant.F16, quant.F16}, {quant.BF16, quant.BF16}, {quant.Q8_0, quant.F32}, {quant.Q4_0, quant.F32},
	}
	for _, tt := range tests {
		f := newFile()
		f.legacy(tt.file)
		file, b := f.open(t), testBundle("b")
		for i := range b.Weights {
			b.Weights[i].Types = []quant.Type{quant.F32, quant.F16, quant.BF16, quant.Q8_0, quant.Q4_0}
		}
		m, err := Resolve(file).Bind(b)
		if err != nil {
			t.Fatal(err)
		}
		const row = 2
		if role := b.Weights[row].Role; role != "self_attn.k_b_proj" {
			t.Fatal(role)
		}
		for layer, name := range []string{"blk.0.attn_kv_b.weight", "blk.1.attn_kv_b.weight"} {
			w, err := m.Lookup(row, layer)
			if err != nil {
				t.Fatal(err)
			}
			if w.Type != tt.bound || w.Region != 1 {
				t.Errorf("%s: bound %+v; want a copy of type %s", tt.file, w, tt.bound)
			}
			kvb := values(t, file, name)
			for h := range heads {
				got := entry(m, w, &b.Weights[row], h)
				for c := range latent {
					for d := range nope {
						if want := kvb[(h*(nope+vdim)+d)*latent+c]; got[c*nope+d] != want {
							t.Fatalf("%s: head %d, element [%d,%d] is %g; want %g", tt.file, h, d, c, got[c*nope+d], want)
						}
					}
				}
			}
		}
		if got, want := Resolve(file).CopyBytes(b), int64(len(m.Regions[1])); got != want {
			t.Errorf("%s: CopyBytes = %d; Bind took %d", tt.file, got, want)
		}
	}
}

func TestCopyBytesWithoutCopies(t *testing.T) {
	if n := Resolve(newFile().open(t)).CopyBytes(testBundle("b")); n != 0 {
		t.Errorf("CopyBytes = %d for a file that needs none", n)
	}
}
