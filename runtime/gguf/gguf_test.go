package gguf

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"mla/runtime/quant"
)

func TestReferenceFiles(t *testing.T) {
	tests := []struct {
		name          string
		tensors, keys int
		tensor        string
		typ           quant.Type
		dims          []uint64
		size          uint64
	}{
		{"youtu-mini-Q4_0", 54, 35, "blk.0.attn_k_b.weight", quant.Q4_0, []uint64{64, 256, 4}, 64 * 256 * 4 / 32 * 18},
		{"youtu-mini-Q4_K_M", 54, 35, "blk.0.attn_k_b.weight", quant.Q5_0, []uint64{64, 256, 4}, 64 * 256 * 4 / 32 * 22},
		{"dsv2lite-mini-Q4_K_M", 59, 44, "blk.1.ffn_gate_exps.weight", quant.Q4_K, []uint64{256, 160, 8}, 256 * 160 * 8 / 256 * 144},
		{"glm47-mini-Q4_K_M", 70, 42, "blk.1.exp_probs_b.bias", quant.F32, []uint64{8}, 32},
		{"glm47-tiny-Q4_0", 70, 42, "output_norm.weight", quant.F32, []uint64{96}, 384},
		{"youtu-tiny-F32", 41, 35, "token_embd.weight", quant.F32, []uint64{96, 384}, 96 * 384 * 4},
		{"youtu-tiny-legacykvb-F32", 38, 33, "blk.2.attn_kv_b.weight", quant.F32, []uint64{64, 3 * (32 + 32)}, 64 * 192 * 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, reference(tt.name))
			if len(f.Tensors) != tt.tensors || len(f.Meta) != tt.keys || f.Version != 3 || f.Alignment != 32 {
				t.Errorf("%d tensors, %d keys, version %d, alignment %d; expected %d, %d, 3, 32",
					len(f.Tensors), len(f.Meta), f.Version, f.Alignment, tt.tensors, tt.keys)
			}
			x, ok := f.Tensor(tt.tensor)
			if !ok {
				t.Fatalf("no tensor %q", tt.tensor)
			}
			if x.Type != tt.typ || !reflect.DeepEqual(x.Dims, tt.dims) || x.Size != tt.size || uint64(len(x.Data)) != tt.size {
				t.Errorf("%s is %v %d, %d bytes, %d of data; expected %v %d, %d", x.Name, x.Type, x.Dims, x.Size, len(x.Data), tt.typ, tt.dims, tt.size)
			}
			last := f.Tensors[len(f.Tensors)-1]
			if end := padded(last.Offset+last.Size, f.Alignment); end != uint64(len(f.Shards[0].Data)) {
				t.Errorf("the last tensor ends at %d in a file of %d bytes", end, len(f.Shards[0].Data))
			}
			tokens, _, err := f.Strings("tokenizer.ggml.tokens")
			if err != nil || len(tokens) < 384 || tokens[0] != "Ā" {
				t.Errorf("tokens: %d, %v", len(tokens), err)
			}
		})
	}
}

func TestRoundTrip(t *testing.T) {
	for _, alignment := range []uint32{8, 32, 4096} {
		meta := append(everyKind(), KV{alignmentKey, Uint32(alignment)})
		path := writeFile(t, filepath.Join(t.TempDir(), "x.gguf"), meta, smallTensors())
		f := open(t, path)
		checkRoundTrip(t, f, meta)
		if f.Version != 3 || f.Alignment != uint64(alignment) {
			t.Errorf("version %d, alignment %d", f.Version, f.Alignment)
		}
		if err := f.Prefetch(); err != nil {
			t.Error(err)
		}
	}
}

// TestVersion2 reads a file encoded by hand. The layout is that of version 3;
// only version 1, which is refused, had other widths.
func TestVersion2(t *testing.T) {
	data := enc([]byte(magic), uint32(2), uint64(1), uint64(2),
		"name", KindString, "old",
		"ids", KindArray, KindInt32, uint64(2), uint32(5), uint32(1<<32-2),
		"w", uint32(2), uint64(2), uint64(1), quant.F32, uint64(0))
	at := padded(uint64(len(data)), 32)
	data = append(data, make([]byte, at-uint64(len(data)))...)
	data = append(data, 1, 2, 3, 4, 5, 6, 7, 8)

	f, err := Parse("v2", data)
	if err != nil {
		t.Fatal(err)
	}
	name, _, nameErr := f.String("name")
	ids, _, idsErr := f.Ints("ids")
	if f.Version != 2 || name != "old" || nameErr != nil || !slices.Equal(ids, []int64{5, -2}) || idsErr != nil {
		t.Errorf("version %d, name %q %v, ids %d %v", f.Version, name, nameErr, ids, idsErr)
	}
	w, ok := f.Tensor("w")
	if !ok || w.Offset != at || !bytes.Equal(w.Data, []byte{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("%v %+v", ok, w)
	}
}

func sameKV(a, b KV) bool {
	x, y := a.Value, b.Value
	return a.Key == b.Key && x.kind == y.kind && x.elem == y.elem && x.n == y.n && bytes.Equal(x.raw, y.raw)
}

func checkRoundTrip(t *testing.T, f *File, meta []KV) {
	t.Helper()
	if !slices.EqualFunc(f.Meta, meta, sameKV) {
		t.Errorf("metadata is\n%v\nexpected\n%v", f.Meta, meta)
	}
	want := smallTensors()
	if len(f.Tensors) != len(want) {
		t.Fatalf("%d tensors; expected %d", len(f.Tensors), len(want))
	}
	for i, x := range f.Tensors {
		if x.Name != want[i].Name || x.Type != want[i].Type || !reflect.DeepEqual(x.Dims, want[i].Dims) {
			t.Errorf("tensor %d is %v %v %v; expected %v", i, x.Name, x.Type, x.Dims, want[i])
		}
		if !bytes.Equal(x.Data, contents(x.Name, x.Size)) || x.Offset%f.Alignment != 0 {
			t.Errorf("tensor %q: wrong data at %d", x.Name, x.Offset)
		}
	}
}

func TestUnknownTensorType(t *testing.T) {
	data := enc(start(2, 0),
		"odd", uint32(1), uint64(7), uint32(137), uint64(0),
		"next", uint32(1), uint64(1), quant.F32, uint64(64))
	data = append(data, make([]byte, padded(uint64(len(data)), 32)-uint64(len(data))+68)...)
	f, err := Parse("x", data)
	if err != nil {
		t.Fatal(err)
	}
	odd, _ := f.Tensor("odd")
	if odd.Size != 64 || odd.Data != nil || odd.Elems() != 7 {
		t.Errorf("size %d, data %v, elements %d", odd.Size, odd.Data, odd.Elems())
	}
	_, err = odd.Format()
	wantError(t, err, `"odd"`, "IQ2_K")
	next, _ := f.Tensor("next")
	if format, err := next.Format(); err != nil || format.BlockBytes != 4 {
		t.Errorf("format of next: %v, %v", format, err)
	}
}

func TestClose(t *testing.T) {
	f, err := Open(reference("youtu-tiny-F32"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, ok := f.Lookup("general.name"); ok {
		t.Error("a key is found after Close")
	}
	if _, ok := f.Tensor("output_norm.weight"); ok {
		t.Error("a tensor is found after Close")
	}
}

func TestOpenOddFiles(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.gguf")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe.gguf")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ path, want string }{
		{filepath.Join(dir, "missing.gguf"), "no such file"},
		{dir, "is a folder"},
		{pipe, "not a regular file"},
		{empty, "it is empty"},
	}
	for _, tt := range tests {
		_, err := Open(tt.path)
		wantError(t, err, tt.path, tt.want)
	}
}
