package bind

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// TestPaired: the rotated rows of each head, which the file has in halves, are in pairs
// in a copy, whole rows of blocks; the other rows keep their places.
func TestPaired(t *testing.T) {
	for _, typ := range []quant.Type{quant.F32, quant.Q8_0} {
		f, b := newFile(), testBundle("b")
		f.retype("attn_v_b", typ)
		i := slices.IndexFunc(b.Weights, func(w plan.Weight) bool { return w.Role == "self_attn.v_b_proj" })
		w := &b.Weights[i]
		w.HeadRows, w.RotaryRows = vdim/2, 6 // two heads in each batch entry
		file := f.open(t)
		m, err := Resolve(file).Bind(b)
		if err != nil {
			t.Fatal(err)
		}
		tensor, _ := file.Tensor("blk.1.attn_v_b.weight")
		got := m.Weights[i][1]
		if got.Region < m.Mapped || got.Bytes != int64(tensor.Size) {
			t.Fatalf("%+v", got)
		}
		format, _ := quant.Lookup(typ)
		row, _ := format.RowBytes(w.Cols)
		data := m.Regions[got.Region][got.Offset:][:got.Bytes]
		order := []int{0, 3, 1, 4, 2, 5} // of the rotated rows of a head
		for r := range w.Rows * w.Batch {
			from := r
			if at := r % w.HeadRows; at >= w.HeadRows-6 {
				from = r - at + w.HeadRows - 6 + order[at-(w.HeadRows-6)]
			}
			if !slices.Equal(data[r*row:(r+1)*row], tensor.Data[from*row:(from+1)*row]) {
				t.Fatalf("%v: row %d is not row %d of the file", typ, r, from)
			}
		}
		if n := Resolve(file).CopyBytes(b); n != 2*padded(int64(tensor.Size)) {
			t.Errorf("%d bytes of copies", n)
		}
	}
}

// TestScaled: a vector with a factor is copied and multiplied.
func TestScaled(t *testing.T) {
	f, b := newFile(), testBundle("b")
	i := slices.IndexFunc(b.Weights, func(w plan.Weight) bool { return w.Role == "input_layernorm" })
	b.Weights[i].Scale = 0.1
	file := f.open(t)
	m, err := Resolve(file).Bind(b)
	if err != nil {
		t.Fatal(err)
	}
	tensor, _ := file.Tensor("blk.0.attn_norm.weight")
	got := m.Weights[i][0]
	for k := range hidden {
		x := math.Float32frombits(binary.LittleEndian.Uint32(tensor.Data[4*k:]))
		y := math.Float32frombits(binary.LittleEndian.Uint32(m.Regions[got.Region][got.Offset+int64(4*k):]))
		if y != x*0.1 {
			t.Fatalf("element %d is %g; the file has %g", k, y, x)
		}
	}
}

// factorsFile is a file of MiniCPM3's kind, as far as its header is read.
func factorsFile() *testFile {
	f := newFile()
	for key, v := range f.keys {
		if name, ok := strings.CutPrefix(key, "deepseek2."); ok {
			delete(f.keys, key)
			f.keys["minicpm3."+name] = v
		}
	}
	f.keys["general.architecture"] = gguf.String("minicpm3")
	f.keys["minicpm3.attention.key_length"] = gguf.Uint32(nope + rope)
	f.keys["minicpm3.rope.scaling.original_context_length"] = gguf.Uint32(16)
	f.legacy(quant.F32)
	return f
}

func factorsOf(f *gguf.File) (device.RopeFactors, *Mismatch) {
	h := Resolve(f)
	return h.factors, h.badFactors
}

// TestRopeFactors reads lists that fit and refuses others.
func TestRopeFactors(t *testing.T) {
	f := factorsFile()
	f.add(gguf.ShortFactors, quant.F32, rope/2)
	f.add(gguf.LongFactors, quant.F32, rope/2)
	file := f.open(t) // random numbers, which may be negative
	for _, name := range []string{gguf.ShortFactors, gguf.LongFactors} {
		tensor, _ := file.Tensor(name)
		data := slices.Clone(tensor.Data)
		for i := range rope / 2 {
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i)+float32(len(name))))
		}
		tensor.Data = data
	}
	got, bad := factorsOf(file)
	if bad != nil || got.Original != 16 || !slices.Equal(got.Short, []float64{25, 26}) || !slices.Equal(got.Long, []float64{24, 25}) {
		t.Errorf("%+v, %v", got, bad)
	}
	for _, x := range []float32{0, -1, float32(math.NaN()), float32(math.Inf(1))} {
		tensor, _ := file.Tensor(gguf.LongFactors)
		binary.LittleEndian.PutUint32(tensor.Data[4:], math.Float32bits(x))
		if _, bad := factorsOf(file); bad == nil || !strings.Contains(bad.String(), "as factor 1, expected a positive number") {
			t.Errorf("%g: %v", x, bad)
		}
	}
	for name, add := range map[string]func(f *testFile){
		"dimensions [3], expected F32, F16 or BF16 of dimensions [2]": func(f *testFile) { f.add(gguf.ShortFactors, quant.F16, 3) },
		"Q8_0 of dimensions [32]":                                     func(f *testFile) { f.add(gguf.ShortFactors, quant.Q8_0, 32) },
	} {
		f := factorsFile()
		add(f)
		if _, bad := factorsOf(f.open(t)); bad == nil || !strings.Contains(bad.String(), name) {
			t.Errorf("%v; want %s", bad, name)
		}
	}
	if got, bad := factorsOf(factorsFile().open(t)); bad != nil || got.Short != nil || got.Long != nil {
		t.Errorf("without: %+v, %v", got, bad)
	}
	plain := newFile()
	plain.add(gguf.ShortFactors, quant.F32, rope/2)
	if bad := Resolve(plain.open(t)).Fit(testBundle("b")); len(bad) != 1 || !strings.Contains(bad[0].String(), gguf.ShortFactors) {
		t.Errorf("a file of another architecture: %v", bad)
	}
}
