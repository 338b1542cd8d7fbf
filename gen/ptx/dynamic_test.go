package ptx

import (
	"strings"
	"testing"
)

// kernelText is PTX of a kernel in small, with arrays of threadgroup memory.
func kernelText(name string, arrays ...string) string {
	text := ".visible .entry " + name + "(\n\t.param .u64 " + name + "_param_0\n)\n.maxntid 64, 1, 1\n{\n\t.reg .b32 \t%r<2>;\n"
	for i, bytes := range arrays {
		text += "\t// demoted variable\n\t.shared .align 16 .b8 _ZZ" + name + "E7scratch" + strings.Repeat("x", i) + "[" + bytes + "];\n"
	}
	return text + "\tret;\n}\n"
}

const dynamicHead = "// head\n.version 7.8\n.target sm_90\n.address_size 64\n\n\t// .globl\tk\n// _ZZkE7scratch has been demoted\n\n"

func TestDynamic(t *testing.T) {
	small, large := kernelText("s", "49152"), kernelText("k", "61440")
	asked := "// dynamic threadgroup memory: 61440\n.extern .shared .align 16 .b8 _ZZkE7scratch[];\n" +
		".visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 64, 1, 1\n{\n\t.reg .b32 \t%r<2>;\n\t// demoted variable\n\tret;\n}\n"
	for _, tt := range []struct{ name, text, want string }{
		{"no kernel", dynamicHead, dynamicHead},
		{"none", dynamicHead + kernelText("n"), dynamicHead + kernelText("n")},
		{"as much as may be declared", dynamicHead + small, dynamicHead + small},
		{"two small arrays", dynamicHead + kernelText("two", "24576", "24576"), dynamicHead + kernelText("two", "24576", "24576")},
		{"more", dynamicHead + large, dynamicHead + asked},
		{"between others", dynamicHead + small + "\t// .globl k\n" + large + "\n" + kernelText("n"), dynamicHead + small + "\t// .globl k\n" + asked + "\n" + kernelText("n")},
		{"a small array for all", dynamicHead + ".shared .align 4 .b8 all[64];\n" + large, dynamicHead + ".shared .align 4 .b8 all[64];\n" + asked},
	} {
		got, err := dynamic(tt.text)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.name, err, got, tt.want)
		}
	}
	for _, tt := range []struct{ name, text, says string }{
		{"two arrays", dynamicHead + kernelText("k", "40000", "20000"), "has 2 arrays of threadgroup memory, 60000 bytes together"},
		{"for all", dynamicHead + ".shared .align 16 .b8 all[61440];\n" + small, "all[61440]; is outside"},
		{"for all, after them", dynamicHead + small + ".visible .shared .align 16 .b8 all[61440];\n", "all[61440]; is outside"},
		{"no size", dynamicHead + kernelText("k", "99999999999999999999"), "k"},
		{"no end", dynamicHead + strings.TrimSuffix(large, "}\n"), "does not end"},
	} {
		if got, err := dynamic(tt.text); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.says)
		}
	}
}

// TestJoinDynamic checks that the dynamic memory of a kernel belongs to its entry, not to the text that all
// joined files must share.
func TestJoinDynamic(t *testing.T) {
	large, err := dynamic(dynamicHead + kernelText("k", "61440"))
	if err != nil {
		t.Fatal(err)
	}
	small := dynamicHead + kernelText("s", "16")
	for _, texts := range [][]string{{small, large}, {large, small}} {
		got, err := Join(texts)
		if want := texts[0] + "\n" + strings.TrimPrefix(texts[1], dynamicHead); err != nil || got != want {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want)
		}
	}
}
