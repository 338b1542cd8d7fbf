package gguf

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"testing"
)

func TestGetters(t *testing.T) {
	f := open(t, writeFile(t, filepath.Join(t.TempDir(), "x.gguf"), everyKind(), nil))
	asUint := func(k string) (any, bool, error) { return anyOf(f.Uint(k)) }
	asFloat := func(k string) (any, bool, error) { return anyOf(f.Float(k)) }
	asBool := func(k string) (any, bool, error) { return anyOf(f.Bool(k)) }
	asText := func(k string) (any, bool, error) { return anyOf(f.String(k)) }
	asStrings := func(k string) (any, bool, error) { return anyOf(f.Strings(k)) }
	asInts := func(k string) (any, bool, error) { return anyOf(f.Ints(k)) }
	asFloats := func(k string) (any, bool, error) { return anyOf(f.Floats(k)) }
	tests := []struct {
		get  func(string) (any, bool, error)
		key  string
		want any
		err  string // part of the error, if one is expected
	}{
		{asUint, "u8", uint64(200), ""},
		{asUint, "u16", uint64(65535), ""},
		{asUint, "u32", uint64(1 << 31), ""},
		{asUint, "u64", uint64(1 << 63), ""},
		{asUint, "i8", nil, "is -7; expected a non-negative integer"},
		{asUint, "i64", nil, "is -9223372036854775808"},
		{asUint, "f32", nil, "is float32; expected an unsigned integer"},
		{asFloat, "f32", float64(float32(0.1)), ""},
		{asFloat, "f64", 0.1, ""},
		{asFloat, "u8", nil, "is uint8; expected a float"},
		{asBool, "yes", true, ""},
		{asBool, "no", false, ""},
		{asBool, "u8", nil, "is uint8; expected a bool"},
		{asText, "text", "naïve \x00 \xff", ""},
		{asText, "empty", "", ""},
		{asText, "strings", nil, "is array of string; expected a string"},
		{asStrings, "strings", []string{"a", "", "Ġthe"}, ""},
		{asStrings, "none", []string{}, ""},
		{asStrings, "i32s", nil, "is array of int32; expected array of string"},
		{asStrings, "text", nil, "is string; expected array of string"},
		{asInts, "i32s", []int64{1, -2, 3}, ""},
		{asInts, "u32s", []int64{4, 5}, ""},
		{asInts, "f32s", nil, "is array of float32; expected array of integers"},
		{asFloats, "f32s", []float64{0.5, -1}, ""},
		{asFloats, "nested", nil, "is array of array; expected array of floats"},
	}
	for _, tt := range tests {
		got, found, err := tt.get(tt.key)
		if !found {
			t.Errorf("%s: not found", tt.key)
		}
		if tt.err != "" {
			wantError(t, err, f.Path, fmt.Sprintf("%q", tt.key), tt.err)
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %#v, %v; expected %#v", tt.key, got, err, tt.want)
		}
	}
	if _, found, err := asUint("absent"); found || err != nil {
		t.Errorf("absent key: %v, %v", found, err)
	}
}

func anyOf[T any](v T, ok bool, err error) (any, bool, error) { return v, ok, err }

func TestIntsOverflow(t *testing.T) {
	v := Value{kind: KindArray, elem: KindUint64, n: 2, raw: enc(uint64(1), uint64(math.MaxUint64))}
	_, err := v.Ints()
	wantError(t, err, "element 1", "18446744073709551615")
}

func TestValueString(t *testing.T) {
	want := map[string]string{
		"u8": "200", "i8": "-7", "u64": "9223372036854775808", "f32": "0.1", "yes": "true",
		"empty": `""`, "strings": `3 x string ["a", "", "Ġthe"]`, "none": "0 x string []",
		"nested": "2 x array [2 x uint8 [1, 2], 0 x uint8 []]",
	}
	for _, kv := range everyKind() {
		if w, ok := want[kv.Key]; ok && kv.Value.String() != w {
			t.Errorf("%s is %s; expected %s", kv.Key, kv.Value, w)
		}
	}
	if got := Int32s(make([]int32, 9)).String(); got != "9 x int32 [0, 0, 0, 0, ...]" {
		t.Error(got)
	}
	if got := Kind(99).String(); got != "Kind(99)" {
		t.Error(got)
	}
}

// vocabularySize is that of GLM-4.7-Flash.
const vocabularySize = 154880

func vocabulary() []string {
	list := make([]string, vocabularySize)
	for i := range list {
		list[i] = fmt.Sprintf("Ġtoken%d", i)
	}
	return list
}

func TestStringsAllocations(t *testing.T) {
	v := Strings(vocabulary())
	n := testing.AllocsPerRun(3, func() {
		if list, err := v.Strings(); err != nil || len(list) != vocabularySize {
			t.Fatal(err)
		}
	})
	if n > 2 { // the slice and the text, whatever the number of strings
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOpenVocabulary(b *testing.B) {
	path := writeFile(b, filepath.Join(b.TempDir(), "x.gguf"), []KV{{"tokens", Strings(vocabulary())}}, nil)
	for b.Loop() {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := f.Strings("tokens"); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
