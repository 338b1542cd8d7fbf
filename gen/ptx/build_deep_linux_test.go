//go:build deep

package ptx

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/generated"
	"mla/runtime/plan"
)

// TestOtherArchitectures: so do kernels that no bundle of the build has.
func TestOtherArchitectures(t *testing.T) {
	warm := spectest.Random(1)
	warm.Temperature = plan.Temperature{Scale: 0.1, Length: 8192}
	for name, s := range map[string]*spec.Spec{"temperature": warm, "plm": spectest.As("plm", spectest.Random(2)), "minicpm3": spectest.As("minicpm3", spectest.Random(3))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := gen.Compile(s, nil)
			if err != nil {
				t.Fatal(err)
			}
			f, err := compiled(b)
			if err != nil {
				t.Fatal(err)
			}
			checkEntries(t, f)
		})
	}
}

// TestKept: the few files that the repository keeps are up to date, and the program
// finds them.
func TestKept(t *testing.T) {
	text, err := os.ReadFile("../../.gitignore")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^!/generated/\w+/(?:reference/)?(\w+)`+regexp.QuoteMeta(Extension)+`$`).FindAllStringSubmatch(string(text), -1) {
		n++
		b := bundle(t, m[1])
		file, err := os.ReadFile(pathOf(b))
		if err == nil {
			err = Check(b, file)
		}
		if err == nil {
			err = generated.HasPTX(b)
		}
		if err != nil {
			t.Errorf("%s: %v; mend it with: make ptx", pathOf(b), err)
		}
	}
	if n == 0 {
		t.Error(".gitignore keeps no PTX, which go:embed and the tests of the CUDA device need")
	}
}

// TestSplitRows: the kernels read rows as quant.SplitRows lays them out: nibbles by
// 8 bytes in one load, where blocks as they are in a file have 2-byte words.
func TestSplitRows(t *testing.T) {
	list := entries(t, ptxOf(t, bundle(t, "youtu2bnvidia")).text)
	for name, single := range map[string]bool{
		"o_proj_q4_0": false, "o_proj_q8_0": false, "o_proj_q6_k": false, "lm_head_q6_k": false,
		"k_b_q5_0": true, // the fifth bits of a block
	} {
		body := list[name].body
		if !strings.Contains(body, ".v2.u32") || strings.Contains(body, ".u16") {
			t.Errorf("%s does not read rows that are split", name)
		}
		if word := singleWord.FindString(body); (word != "") != single {
			t.Errorf("%s loads single words: %v (%s); expected %v", name, word != "", word, single)
		}
	}
}

// TestNoBranches: no format has a condition in its step that a compiler makes a branch
// of, for which the next row's loads would wait.
func TestNoBranches(t *testing.T) {
	for _, name := range []string{"youtu2bnvidia", "youtu2bf16nvidia"} {
		branches := map[string]int{}
		for variant, e := range entries(t, ptxOf(t, bundle(t, name)).text) {
			if strings.HasPrefix(variant, "o_proj_") && !strings.Contains(variant, "_x") { // of several rows, loops are not unrolled
				branches[variant] = len(branch.FindAllString(e.body, -1))
			}
		}
		if len(branches) < 2 || branches["o_proj_q4_0"] == 0 {
			t.Fatalf("%s: variants of o_proj and their branches: %v; expected some beside q4_0", name, branches)
		}
		for variant, n := range branches {
			if n > branches["o_proj_q4_0"] {
				t.Errorf("%s: %s has %d branches, o_proj_q4_0 has %d", name, variant, n, branches["o_proj_q4_0"])
			}
		}
	}
}

var singleWord = regexp.MustCompile(`ld\.global(?:\.nc)?\.u32.*`)

var branch = regexp.MustCompile(`\bbra\b`)
