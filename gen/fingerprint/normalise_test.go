package main

import (
	"slices"
	"strings"
	"testing"
)

const kernelText = `// made from one source
.global .align 4 .b8 _ZL6values[8];
// dynamic threadgroup memory: 61440
.visible .entry k(
	.param .u64 k_param_0
)
{
	// begin inline asm
	mov.u64 %rd1, _ZL6values;
$L__BB0_1:
	add.s32 %r1, %r1, 1;
	@%p1 bra $L__BB0_1;
	ret;
}
`

// TestNormalise: names that the compiler gives and comments are no instructions; all else is.
func TestNormalise(t *testing.T) {
	want := normalise(kernelText)
	if len(want) != 12 {
		t.Errorf("%d lines; expected 12", len(want))
	}
	for _, tt := range []struct {
		name, from, to string
		same           bool
	}{
		{"a comment", "one source", "another", true},
		{"a symbol", "_ZL6values", "_ZN3mlaL6valuesE", true},
		{"a label", "$L__BB0_1", "$L__BB7_2", true},
		{"an empty line", "\tret;\n", "\n\tret;\n", true},
		{"threadgroup memory", "61440", "49168", false},
		{"an instruction", "add.s32", "sub.s32", false},
		{"a register", "%r1, 1;", "%r2, 1;", false},
		{"an entry", ".entry k(", ".entry m(", false},
		{"where a branch goes", "bra $L__BB0_1", "bra $L__BB0_2", false},
		{"a line more", "\tret;\n", "\tret;\n\tret;\n", false},
		{"a line less", "}\n", "", false},
	} {
		changed := strings.ReplaceAll(kernelText, tt.from, tt.to)
		if changed == kernelText || slices.Equal(normalise(changed), want) != tt.same {
			t.Errorf("%s: the lines stay the same: %t; expected %t", tt.name, !tt.same, tt.same)
		}
	}
}
