package cuda

import (
	"strings"
	"testing"

	"mla/runtime/plan"
)

// dynamicText is text whose first entry asks for shared memory.
var dynamicText = strings.Replace(text, ".visible .entry one", "// dynamic threadgroup memory: 61440\n.extern .shared .align 16 .b8 one_scratch[];\n.visible .entry one", 1)

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

// TestPTXDynamic checks that an entry keeps its demand for dynamic shared memory, as text and as a number.
func TestPTXDynamic(t *testing.T) {
	p, err := parsePTX(dynamicText)
	if err != nil {
		t.Fatal(err)
	}
	if one, two := p.entries["one"], p.entries["two"]; one.dynamic != 61440 || one.params != 2 || two.dynamic != 0 {
		t.Errorf("%+v, %+v", one, two)
	}
	if all := p.module(map[string]bool{"one": true, "two": true}); all != dynamicText {
		t.Errorf("all of it is\n%s", all)
	}
	plain, err := parsePTX(text)
	if err != nil {
		t.Fatal(err)
	}
	if two := p.module(map[string]bool{"two": true}); two != plain.module(map[string]bool{"two": true}) {
		t.Errorf("two alone is\n%s", two)
	}
	if one := p.module(map[string]bool{"one": true}); !strings.Contains(one, ".extern .shared .align 16 .b8 one_scratch[];\n.visible .entry one(") {
		t.Errorf("one alone is\n%s", one)
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

		"no shared memory":        strings.Replace(dynamicText, "61440", "0", 1),
		"less":                    strings.Replace(dynamicText, "61440", "-61440", 1),
		"absurd":                  strings.Replace(dynamicText, "61440", "99999999999999", 1),
		"no number":               strings.Replace(dynamicText, "61440", "much", 1),
		"asked for twice":         strings.Replace(dynamicText, "// dynamic", "// dynamic threadgroup memory: 5\n// dynamic", 1),
		"asked for inside":        strings.Replace(text, "\tret;\n", "// dynamic threadgroup memory: 5\n\tret;\n", 1),
		"asked for by none":       text + "// dynamic threadgroup memory: 5\n",
		"asked for by a function": strings.Replace(text, ".visible .func", "// dynamic threadgroup memory: 5\n.visible .func", 1),
		"of no size":              strings.Replace(dynamicText, "// dynamic", "// no", 1),
		"of no size, inside":      strings.Replace(dynamicText, "\tret;\n", "\t.extern .shared .align 16 .b8 more[];\n\tret;\n", 1),
	} {
		if _, err := parsePTX(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestPTXNeeds checks that a kernel which needs more memory than the GPU has is refused before anything is
// compiled.
func TestPTXNeeds(t *testing.T) {
	p, err := parsePTX(dynamicText)
	if err != nil {
		t.Fatal(err)
	}
	p.blockMemory = 61439
	k := &plan.Kernel{Slots: make([]plan.Slot, 2)}
	if _, err := p.load([]use{{"one", k}}); err == nil || !strings.Contains(err.Error(), "kernel one: 61440 bytes of shared memory per block; the GPU allows 61439") {
		t.Error(err)
	}
}

// FuzzPTX checks that no text makes the parser panic, and that an accepted text is parsed completely.
func FuzzPTX(f *testing.F) {
	f.Add(text)
	f.Add(dynamicText)
	f.Add(strings.Replace(dynamicText, "61440", "99999999999999999999", 1))
	f.Add(strings.Replace(dynamicText, "// dynamic", "// no", 1))
	f.Add(".target sm_90\n// dynamic threadgroup memory: 5\n.extern .shared .align 16 .b8 a[];\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePTX(text)
		if err != nil {
			return
		}
		wanted := map[string]bool{}
		for name, e := range p.entries {
			wanted[name] = true
			if e.dynamic < 0 || e.dynamic > 1<<24 {
				t.Errorf("%s asks for %d bytes", name, e.dynamic)
			}
		}
		if got := p.module(wanted); got != text {
			t.Errorf("%q is cut into %q", text, got)
		}
	})
}
