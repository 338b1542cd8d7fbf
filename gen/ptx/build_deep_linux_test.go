//go:build deep

package ptx

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"mla/gen"
	"mla/gen/golang"
	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/generated"
	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
)

// pathOf returns the path of the PTX file that `make ptx` writes for a bundle.
func pathOf(b *plan.Bundle) string {
	folder := filepath.Join("../../generated", spec.Name(b.Spec))
	if list, err := os.ReadFile("../../specs/reference.txt"); err == nil && slices.Contains(strings.Fields(string(list)), spec.Name(b.Spec)) {
		folder = filepath.Join(folder, golang.ReferenceFolder)
	}
	return filepath.Join(folder, ptxfile.FileName(b.Name))
}

// built maps the name of a bundle to a function that returns its PTX and compiles it at most once.
var built sync.Map

// ptxOf returns the PTX of a bundle: from the file of `make ptx` if that file is of the bundle's present kernels.
// Otherwise it compiles the thinned bundle, once per test run.
func ptxOf(t *testing.T, b *plan.Bundle) ptxFile {
	t.Helper()
	build, _ := built.LoadOrStore(b.Name, sync.OnceValues(func() (ptxFile, error) {
		if file, err := os.ReadFile(pathOf(b)); err == nil && Check(b, file) == nil {
			text, err := Text(file)
			return ptxFile{b, text}, err
		}
		return compiled(b)
	}))
	f, err := build.(func() (ptxFile, error))()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// compiled returns the PTX of the thinned bundle.
func compiled(b *plan.Bundle) (ptxFile, error) {
	less, err := thinned(b)
	if err != nil {
		return ptxFile{}, err
	}
	file, err := Build(less)
	if err != nil {
		return ptxFile{}, err
	}
	text, err := Text(file)
	return ptxFile{less, text}, err
}

// TestEntries checks that the kernels of every bundle for NVIDIA GPUs compile and fit the plan. TestBuild is the
// example of the fast tier.
func TestEntries(t *testing.T) {
	for _, b := range plan.For(plan.ClassNVIDIA, generated.Bundles()) {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			checkEntries(t, ptxOf(t, bundle(t, b.Name)))
		})
	}
}

// TestOtherArchitectures checks the same for kernels that no bundle of the build has.
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
