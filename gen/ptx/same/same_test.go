package main

import (
	"strings"
	"testing"
)

const before = `// made from one source
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

func TestDifference(t *testing.T) {
	for _, tt := range []struct{ name, from, to, says string }{
		{"nothing", "", "", "the same 12 lines"},
		{"a comment", "one source", "another", "the same"},
		{"a symbol", "_ZL6values", "_ZN3mlaL6valuesE", "the same"},
		{"a label", "$L__BB0_1", "$L__BB7_2", "the same"},
		{"threadgroup memory", "61440", "49168", "differs at line 2"},
		{"an instruction", "add.s32", "sub.s32", "differs at line 9"},
		{"a register", "%r1, 1;", "%r2, 1;", "differs at line 9"},
		{"an entry", ".entry k(", ".entry m(", "differs at line 3"},
		{"where a branch goes", "bra $L__BB0_1", "bra $L__BB0_2", "differs at line 10"},
		{"a line more", "\tret;\n", "\tret;\n\tret;\n", "differs at line 12"},
		{"a line less", "}\n", "", "12 lines without comments are now 11"},
	} {
		report, equal := difference(before, strings.ReplaceAll(before, tt.from, tt.to))
		if tt.from == "" {
			report, equal = difference(before, before)
		}
		if !strings.HasPrefix(report, tt.says) || equal != strings.HasPrefix(tt.says, "the same") {
			t.Errorf("%s: %s (equal: %t); want %q", tt.name, report, equal, tt.says)
		}
	}
}
