package cuda

import (
	"strings"
	"testing"
)

// text is PTX as clang writes it, in small.
const text = `// head
.version 7.8
.target sm_90
.address_size 64

	// .globl	one
.visible .global .align 4 .b8 table[8];

.visible .entry one(
	.param .u64 one_param_0,
	.param .u64 one_param_1
)
.maxntid 128, 1, 1
{
	.reg .b64 	%rd<2>;
	ld.param.u64 	%rd1, [one_param_0];
	{ // a block inside
	}
	ret;
}
	// .globl	two
.visible .func helper()
{
	ret;
}

.entry two(
	.param .u64 two_param_0
)
{
	ret;
}
	// the end
`

func TestPTX(t *testing.T) {
	p, err := parsePTX(text)
	if err != nil {
		t.Fatal(err)
	}
	if p.target != 90 || len(p.entries) != 2 || p.entries["one"].params != 2 || p.entries["two"].params != 1 {
		t.Errorf("%+v", p)
	}
	if all := p.module(map[string]bool{"one": true, "two": true}); all != text {
		t.Errorf("all of it is\n%s", all)
	}
	from, to := strings.Index(text, ".visible .entry one"), strings.Index(text, "\t// .globl\ttwo")
	if two := p.module(map[string]bool{"two": true}); two != text[:from]+text[to:] {
		t.Errorf("two alone is\n%s", two)
	}
}

func TestPTXTargets(t *testing.T) {
	for line, want := range map[string]int{"sm_80": 80, "sm_90a": 90, "sm_120, debug": 120} {
		if p, err := parsePTX(strings.Replace(text, "sm_90", line, 1)); err != nil || p.target != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestPTXRejects(t *testing.T) {
	for name, bad := range map[string]string{
		"empty":          "",
		"no target":      strings.Replace(text, ".target", "// target", 1),
		"odd target":     strings.Replace(text, "sm_90", "sm_x", 1),
		"empty target":   strings.Replace(text, "sm_90", "sm_", 1),
		"no end":         text[:strings.Index(text, "\tret;")],
		"entry inside":   strings.Replace(text, "\tret;\n}\n\t// .globl\ttwo", ".entry three(\n", 1),
		"twice":          strings.ReplaceAll(text, "two(", "one("),
		"without a name": strings.Replace(text, "entry one(", "entry (", 1),
	} {
		if _, err := parsePTX(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
