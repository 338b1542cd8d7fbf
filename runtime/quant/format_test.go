package quant

import (
	"math"
	"strings"
	"testing"
)

// TestFormatTable checks ids, names and sizes against ggml's.
func TestFormatTable(t *testing.T) {
	want := []struct {
		t            Type
		id           uint32
		name         string
		elems, bytes int
	}{
		{F32, 0, "f32", 1, 4},
		{F16, 1, "f16", 1, 2},
		{Q4_0, 2, "q4_0", 32, 18},
		{Q4_1, 3, "q4_1", 32, 20},
		{Q5_0, 6, "q5_0", 32, 22},
		{Q5_1, 7, "q5_1", 32, 24},
		{Q8_0, 8, "q8_0", 32, 34},
		{Q2_K, 10, "q2_k", 256, 84},
		{Q3_K, 11, "q3_k", 256, 110},
		{Q4_K, 12, "q4_k", 256, 144},
		{Q5_K, 13, "q5_k", 256, 176},
		{Q6_K, 14, "q6_k", 256, 210},
		{IQ2_XXS, 16, "iq2_xxs", 256, 66},
		{IQ2_XS, 17, "iq2_xs", 256, 74},
		{IQ3_XXS, 18, "iq3_xxs", 256, 98},
		{IQ1_S, 19, "iq1_s", 256, 50},
		{IQ4_NL, 20, "iq4_nl", 32, 18},
		{IQ3_S, 21, "iq3_s", 256, 110},
		{IQ2_S, 22, "iq2_s", 256, 82},
		{IQ4_XS, 23, "iq4_xs", 256, 136},
		{IQ1_M, 29, "iq1_m", 256, 56},
		{BF16, 30, "bf16", 1, 2},
		{TQ1_0, 34, "tq1_0", 256, 54},
		{TQ2_0, 35, "tq2_0", 256, 66},
		{MXFP4, 39, "mxfp4", 32, 17},
		{NVFP4, 40, "nvfp4", 64, 36},
		{Q1_0, 41, "q1_0", 128, 18},
		{Q2_0, 42, "q2_0", 64, 18},
		{NVFP4Scaled, 1<<16 + 40, "nvfp4_scaled", 64, 40},
	}
	if got := len(Formats()); got != len(want) {
		t.Errorf("Formats() has %d entries, want %d", got, len(want))
	}
	for i, w := range want {
		f, ok := Lookup(Type(w.id))
		if !ok || f != Formats()[i] {
			t.Errorf("Lookup(%d) = %v, %v; want entry %d", w.id, f, ok, i)
			continue
		}
		if f.Type != w.t || f.Name != w.name || f.BlockElems != w.elems || f.BlockBytes != w.bytes {
			t.Errorf("type %d: %s %d/%d, want %s %d/%d", w.id, f.Name, f.BlockElems, f.BlockBytes, w.name, w.elems, w.bytes)
		}
		if g, ok := ByName(strings.ToUpper(w.name)); !ok || g != f {
			t.Errorf("ByName(%q) = %v, %v", strings.ToUpper(w.name), g, ok)
		}
		if w.t.String() != w.name {
			t.Errorf("String() = %q, want %q", w.t.String(), w.name)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	if f, ok := Lookup(Type(4)); ok {
		t.Errorf("Lookup(4) = %s", f.Name)
	}
	if f, ok := ByName("q3_x"); ok {
		t.Errorf("ByName(q3_x) = %s", f.Name)
	}
	if got := Type(96).String(); got != "type 96" {
		t.Errorf("String() = %q", got)
	}
}

func TestRowBytes(t *testing.T) {
	tests := []struct {
		f     *Format
		elems int
		want  int // -1: an error
	}{
		{&formatQ4_0, 0, 0},
		{&formatQ4_0, 2048, 1152},
		{&formatQ6_K, 2048, 1680},
		{&formatF16, 7, 14},
		{&formatQ4_0, 33, -1},
		{&formatQ4_0, -32, -1},
		{&formatF32, math.MaxInt / 2, -1},
	}
	for _, tt := range tests {
		got, err := tt.f.RowBytes(tt.elems)
		if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("%s.RowBytes(%d) = %d, %v; want %d", tt.f.Name, tt.elems, got, err, tt.want)
		}
	}
}
