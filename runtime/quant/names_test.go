package quant

import "testing"

// TestNames checks that unsupported types have ggml's names.
func TestNames(t *testing.T) {
	for typ, want := range map[Type][2]string{
		Q4_K: {"q4_k", ""}, 9: {"q8_1", ""}, 32: {"q4_0_4_8", "removed"}, 38: {"iq4_nl_8_8", "removed"}, 153: {"iq2_kt", "ik_llama.cpp"},
		212: {"q4_k_r4", "ik_llama.cpp"}, 77: {"type 77", ""}, 1 << 31: {"type 2147483648", ""},
	} {
		if got := [2]string{typ.String(), typ.Origin()}; got != want {
			t.Errorf("%d: %q; want %q", uint32(typ), got, want)
		}
	}
}
