package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/quant"
)

// enc concatenates encoded fields: integers little-endian, strings with their
// length, byte slices as they are.
func enc(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case uint8:
			b = append(b, p)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, p)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, p)
		case Kind:
			b = binary.LittleEndian.AppendUint32(b, uint32(p))
		case quant.Type:
			b = binary.LittleEndian.AppendUint32(b, uint32(p))
		case string:
			b = appendString(b, p)
		case []byte:
			b = append(b, p...)
		default:
			panic(fmt.Sprintf("enc: %T", p))
		}
	}
	return b
}

// start encodes the fixed fields of a version 3 header.
func start(tensors, keys uint64) []byte { return enc([]byte(magic), uint32(3), tensors, keys) }

// everyKind has one value of each kind, with the extremes of the integers.
func everyKind() []KV {
	return []KV{
		{"u8", Uint8(200)}, {"i8", Int8(-7)}, {"u16", Uint16(65535)}, {"i16", Int16(-32768)},
		{"u32", Uint32(1 << 31)}, {"i32", Int32(-1 << 31)}, {"u64", Uint64(1 << 63)}, {"i64", Int64(-1 << 63)},
		{"f32", Float32(0.1)}, {"f64", Float64(0.1)}, {"yes", Bool(true)}, {"no", Bool(false)},
		{"text", String("naïve \x00 \xff")}, {"empty", String("")},
		{"strings", Strings([]string{"a", "", "Ġthe"})}, {"none", Strings(nil)},
		{"i32s", Int32s([]int32{1, -2, 3})}, {"u32s", Uint32s([]uint32{4, 5})}, {"f32s", Float32s([]float32{0.5, -1})},
		{"nested", nested()},
	}
}

// nested is [[1, 2], []] of uint8: the constructors do not make such arrays.
func nested() Value {
	raw := enc(KindUint8, uint64(2), []byte{1, 2}, KindUint8, uint64(0))
	return Value{kind: KindArray, elem: KindArray, n: 2, raw: raw}
}

// smallTensors take 4 KiB in all; the last fills its padding, so that no byte
// of the file is superfluous.
func smallTensors() []TensorInfo {
	return []TensorInfo{
		{"norm.weight", quant.F32, []uint64{3}},
		{"q.weight", quant.Q4_0, []uint64{64, 3}},
		{"exps.weight", quant.F16, []uint64{8, 2, 2}},
		{"last.weight", quant.F32, []uint64{32, 5}},
	}
}

// contents returns size bytes that differ between tensors.
func contents(name string, size uint64) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i*7 + len(name))
	}
	return b
}

// writeFile writes a file with the Writer and returns its path.
func writeFile(t testing.TB, path string, meta []KV, tensors []TensorInfo) string {
	t.Helper()
	w, err := NewWriter(path, meta, tensors)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, ti := range tensors {
		size, err := dataSize(ti.Type, ti.Dims)
		if err != nil {
			t.Fatal(err)
		}
		err = w.WriteTensor(ti.Name, func(out io.Writer) error {
			_, err := out.Write(contents(ti.Name, size))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// smallFile returns the bytes of a file with every kind of value.
func smallFile(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(writeFile(t, filepath.Join(t.TempDir(), "small.gguf"), everyKind(), smallTensors()))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// open opens a file until the end of the test.
func open(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// wantError fails unless err contains all the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; expected one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not contain %q", err, text)
		}
	}
}

func reference(name string) string {
	return filepath.Join("..", "..", "testdata", "reference", name+".gguf")
}
