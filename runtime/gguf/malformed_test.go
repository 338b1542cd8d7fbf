package gguf

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"mla/runtime/quant"
)

const huge = uint64(1) << 60

// malformed lists broken files and what the message must name.
var malformed = []struct {
	name string
	data []byte
	want []string
}{
	{"empty", nil, []string{"no GGUF file: it is empty"}},
	{"other format", []byte("PK\x03\x05............"), []string{"magic", "not a GGUF file"}},
	{"version 1", enc([]byte(magic), uint32(1)), []string{"version is 1", "2 or 3"}},
	{"version 4", enc([]byte(magic), uint32(4)), []string{"version is 4"}},
	{"big-endian", enc([]byte(magic), uint32(3<<24)), []string{"version is 3 in big-endian"}},
	{"tensor count", start(huge, 0), []string{"tensor count", "1152921504606846976"}},
	{"tensor count, all bits", start(1<<64-1, 0), []string{"tensor count"}},
	{"key count", start(0, huge), []string{"key count"}},
	{"key count above the limit", append(start(0, maxItems+1), make([]byte, minKVSize*(maxItems+1))...), []string{"key count is 1048577"}},

	{"key length", enc(start(0, 1), huge, make([]byte, 8)), []string{"name of key 1 of 1", "length 1152921504606846976"}},
	{"key past the end", enc(start(0, 1), uint64(60000), make([]byte, 8)), []string{"name of key 1 of 1", "the file ends"}},
	{"key that steers a terminal", enc(start(0, 1), "k\x1b[2J", KindUint8, uint8(1)), []string{"name of key 1 of 1", "byte 0x1b at offset 33", "ASCII"}},
	{"key that is no ASCII", enc(start(0, 1), "ké", KindUint8, uint8(1)), []string{"name of key 1 of 1", "byte 0xc3"}},
	{"long key", enc(start(0, 1), strings.Repeat("k", maxKeyLen), uint32(13), huge), []string{`key "kkkk`, "unknown value type 13"}},
	{"duplicate key", enc(start(0, 2), "twin", KindUint8, uint8(1), "twin", KindUint8, uint8(1)), []string{`key "twin" appears twice`}},
	{"unknown value type", kv(uint32(13), huge), []string{`key "k"`, "unknown value type 13"}},
	{"bool of 2", kv(KindBool, uint8(2)), []string{`key "k"`, "bool has the value 2"}},
	{"string length", kv(KindString, huge), []string{`key "k"`, "needs 1152921504606846976 bytes"}},
	{"array length", kv(KindArray, KindUint64, huge), []string{`key "k"`, "array length", "1152921504606846976"}},
	{"array length, product overflows", kv(KindArray, KindUint64, uint64(1)<<61), []string{`key "k"`, "array length"}},
	{"array element type", kv(KindArray, uint32(99), uint64(0)), []string{`key "k"`, "element type", "99"}},
	{"array of bool", kv(KindArray, KindBool, uint64(2), []byte{1, 3}), []string{`key "k"`, "bool has the value 3"}},
	{"array of string", kv(KindArray, KindString, uint64(2), "a", uint64(99)), []string{`key "k"`, "element 1"}},
	{"deep array", kv(KindArray, bytes.Repeat(enc(KindArray, uint64(1)), 1000), []byte(strings.Repeat(" ", 20))), []string{`key "k"`, "nested"}},
	{"wide arrays", kv(KindArray, KindArray, huge), []string{`key "k"`, "array length"}},

	{"alignment 0", aligned(Uint32(0)), []string{alignmentKey, "is 0"}},
	{"alignment 24", aligned(Uint32(24)), []string{alignmentKey, "is 24", "power of two"}},
	{"alignment 4", aligned(Uint32(4)), []string{alignmentKey, "is 4", "at least 8"}},
	{"alignment huge", tensorWithAlignment(Uint64(1 << 63)), []string{`tensor "t"`, "end of the file"}},
	{"alignment text", aligned(String("32")), []string{alignmentKey, "is string"}},

	{"tensor name length", enc(start(1, 0), uint64(65), make([]byte, 80)), []string{"name of tensor 1 of 1", "length 65", "at most 64"}},
	{"duplicate tensor", enc(start(2, 0), f32("t", 0, 8), f32("t", 32, 8), make([]byte, 96)), []string{`tensor "t" appears twice`}},
	{"five dimensions", tensor(uint32(5), make([]byte, 64)), []string{`tensor "t"`, "n_dims is 5"}},
	{"dimensions, all bits", tensor(uint32(1<<32-1), make([]byte, 64)), []string{`tensor "t"`, "n_dims"}},
	{"dimension 0", tensor(uint32(2), uint64(4), uint64(0), quant.F32, uint64(0)), []string{`tensor "t"`, "dimension 1 is 0"}},
	{"elements overflow", tensor(uint32(2), uint64(1)<<32, uint64(1)<<32, quant.F32, uint64(0)), []string{`tensor "t"`, "too many elements"}},
	{"bytes overflow", tensor(uint32(1), uint64(1)<<62, quant.F32, uint64(0)), []string{`tensor "t"`, "too many bytes"}},
	{"part of a block", tensor(uint32(1), uint64(40), quant.Q4_0, uint64(0)), []string{`tensor "t"`, "dimension 0 is 40", "multiple of 32"}},
	{"blocks across rows", tensor(uint32(2), uint64(16), uint64(2), quant.Q4_0, uint64(0)), []string{`tensor "t"`, "dimension 0 is 16"}},
	{"misaligned offset", tensor(uint32(1), uint64(1), quant.F32, uint64(8)), []string{`tensor "t"`, "offset 8", "alignment 32"}},
	{"offset past the end", tensor(uint32(1), uint64(1), quant.F32, uint64(1<<20)), []string{`tensor "t"`, "end of the file"}},
	{"offset overflows", tensor(uint32(1), uint64(1), quant.F32, uint64(1<<64-32)), []string{`tensor "t"`, "end of the file"}},
	{"data past the end", tensor(uint32(1), uint64(100), quant.F32, uint64(0)), []string{`tensor "t"`, "its 400 bytes", "is it complete?"}},
	{"unknown type past the end", tensor(uint32(1), uint64(1), uint32(200), uint64(1<<20)), []string{`tensor "t"`, "end of the file"}},
	{"overlap", enc(start(2, 0), f32("a", 0, 9), f32("b", 32, 8), make([]byte, 128)), []string{`tensor "a"`, "overlap", `"b"`}},
	{"unknown type at the same offset", enc(start(2, 0), "a", uint32(1), uint64(8), uint32(200), uint64(0), f32("b", 0, 8), make([]byte, 128)), []string{`tensor "a"`, "overlap", `"b"`}},
	{"same offset", enc(start(2, 0), f32("a", 0, 8), f32("b", 0, 8), make([]byte, 128)), []string{`tensor "a"`, "overlap", `"b"`}},
}

// kv is a file with one key "k".
func kv(parts ...any) []byte { return enc(append([]any{start(0, 1), "k"}, parts...)...) }

func aligned(v Value) []byte {
	return enc(start(0, 1), alignmentKey, appendValue(nil, v))
}

// tensor is a file with one tensor "t" and 64 bytes after its description.
func tensor(parts ...any) []byte {
	return enc(append(append([]any{start(1, 0), "t"}, parts...), make([]byte, 64))...)
}

func tensorWithAlignment(v Value) []byte {
	return enc(start(1, 1), alignmentKey, appendValue(nil, v), f32("t", 0, 1), make([]byte, 64))
}

// f32 describes a tensor with one dimension.
func f32(name string, offset, elems uint64) []byte {
	return enc(name, uint32(1), elems, quant.F32, offset)
}

func TestMalformed(t *testing.T) {
	for _, tt := range malformed {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("bad.gguf", tt.data)
			wantError(t, err, append(tt.want, "bad.gguf")...)
			if n := len(err.Error()); n > 300 {
				t.Errorf("the message has %d bytes", n)
			}
		})
	}
}

// TestMalformedMemory bounds what the claims of a small file can make the
// parser allocate.
func TestMalformedMemory(t *testing.T) {
	const limit = 16 << 10 // the File, its two maps and the error take less than 2 KiB
	for _, tt := range malformed {
		if len(tt.data) > 256 {
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse("bad.gguf", tt.data)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; err == nil || n > limit {
			t.Errorf("%s: %d bytes allocated, error %v", tt.name, n, err)
		}
	}
}

func TestTruncatedAtEveryByte(t *testing.T) {
	data := smallFile(t)
	f, err := Parse("whole", data)
	if err != nil {
		t.Fatal(err)
	}
	header := f.Tensors[0].Offset
	for n := range data {
		_, err := Parse("cut.gguf", data[:n:n])
		if err == nil {
			t.Fatalf("no error for the first %d of %d bytes", n, len(data))
		}
		named := false
		for _, field := range []string{"it is empty", "magic", "version", "count", "key", "tensor"} {
			named = named || strings.Contains(err.Error(), field)
		}
		if uint64(n) >= header {
			named = strings.Contains(err.Error(), `tensor "`)
		}
		if !named {
			t.Errorf("%d bytes: the error names no field: %v", n, err)
		}
	}
}
