package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// TestExclusions demands that every exclusion is about a mutation.
func TestExclusions(t *testing.T) {
	r, err := newRig(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	all, err := r.mutations()
	if err != nil {
		t.Fatal(err)
	}
	x, err := readExclusions(filepath.Join(root, exclusionsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range x.patterns {
		if !slices.ContainsFunc(all, func(m mutation) bool { return match(p, m.id) }) {
			t.Errorf("%s excludes %s, which no mutation matches", exclusionsFile, p)
		}
	}
}

// TestReadExclusions: patterns may have any text, and an entry that says too little is an error.
func TestReadExclusions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "exclusions.json")
	read := func(text string) (*exclusions, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return readExclusions(path)
	}
	x, err := read(`[{"patterns": ["msl/*/a||b"], "why": "one"}, {"patterns": ["go/x", "go/y*"], "why": "two"}]`)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{
		"msl/file/f/a||b": true, "msl/file/a||bc": false, "go/x": true, "go/xx": false, "go/yes": true, "go/no": false,
	} {
		if x.lists(id) != want {
			t.Errorf("%s: listed is %t; expected %t", id, !want, want)
		}
	}
	for _, text := range []string{
		"", "{}", `[{"patterns": ["go/x"]}]`, `[{"patterns": ["go/x"], "why": " "}]`, `[{"patterns": [], "why": "none"}]`,
		`[{"patterns": ["*"], "why": "all"}]`, `[{"patterns": [""], "why": "none"}]`, `[{"pattern": "go/x", "why": "a typo"}]`, `[] []`,
	} {
		if x, err := read(text); err == nil {
			t.Errorf("%s: no error but %q", text, x.patterns)
		}
	}
	if _, err := readExclusions(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no file: no error")
	}
}

// TestChoose: a seed draws the same again, another seed others; barriers and named
// mistakes are always made.
func TestChoose(t *testing.T) {
	var all []mutation
	for _, kind := range []string{"plan/a-tiny-b/swap/", "plan/a-tiny-b/barrier/", "msl/youtu-tiny-F32/k_body/index/", "go/named/"} {
		for i := range 300 {
			all = append(all, mutation{id: kind + string(rune('a'+i/26)) + string(rune('a'+i%26))})
		}
	}
	none := &exclusions{}
	ids := func(fast bool, seeds ...uint64) (list []string) {
		for _, m := range choose(all, seeds, fast, nil, none) {
			list = append(list, m.id)
		}
		return list
	}
	one, two := ids(false, 1), ids(false, 2)
	if slices.Equal(one, two) || !slices.Equal(one, ids(false, 1)) {
		t.Error("the draw does not follow from the seed")
	}
	either := slices.Concat(one, two)
	slices.Sort(either)
	both := ids(false, 1, 2)
	if slices.Sort(both); !slices.Equal(both, slices.Compact(either)) {
		t.Error("two seeds do not draw what either draws, each once")
	}
	if want := 300 + 120 + 25 + 300; len(one) != want {
		t.Errorf("%d mutations; expected %d", len(one), want)
	}
	if n := len(ids(true, 1)); n != 16+4+2 {
		t.Errorf("%d mutations in the fast draw", n)
	}
	if n := len(choose(all, []uint64{1}, false, []string{"go/named/a*"}, none)); n != 26 {
		t.Errorf("%d mutations match; expected 26", n)
	}
}

// TestJudge derives verdicts from the output of programs.
func TestJudge(t *testing.T) {
	for out, want := range map[string]verdict{
		"[metalsim] RULE leak: things (D): 3 things at exit\nSIGABRT: abort":                                           {by: "the simulator: leak"},
		"[metalsim] RULE kernel-fault: the kernel executor found a fault (MSL): down (command 1): device-race: kernel": {by: "the executor: device-race"},
		"error: position 0: dispatch 3: out-of-bounds: kernel embed, threadgroup 1":                                    {by: "the executor: out-of-bounds"},
		"refused: bundle x: compile the kernels: clang rejects the source:\nerror":                                     {invalid: true},
		"logits: position 3: they differ by 0.1":                                                                       {by: "the trial: logits"},
		"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.1s)\nFAIL":                                                   {by: "test TestA"},
		"panic: runtime error: index out of range":                                                                     {by: "Go: panic"},
		"==1==ERROR: AddressSanitizer: stack-buffer-overflow":                                                          {by: "the sanitizers: AddressSanitizer"},
	} {
		if v := judge([]byte(out), errors.New("exit")); v != want {
			t.Errorf("%q: %+v; expected %+v", out, v, want)
		}
	}
}

// TestEnds checks that child processes end with the program that started them. Otherwise a reader of their
// shared output would wait for the child.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r := &rig{ctx: ctx, root: "."}
	begin := time.Now()
	v := r.look(nil, "sh", "-c", "sleep 60 & wait")
	if took := time.Since(begin); v.broken == nil || took > 30*time.Second {
		t.Errorf("%+v after %v", v, took)
	}
}

// TestCount checks the counts of caught, excluded, invalid and escaped mutations.
func TestCount(t *testing.T) {
	all := []mutation{
		{id: "go/a", try: func() verdict { return verdict{by: "x"} }},
		{id: "go/b", try: func() verdict { return verdict{} }},
		{id: "go/c", try: func() verdict { return verdict{invalid: true} }},
		{id: "msl/d", try: func() verdict { return verdict{} }},
		{id: "msl/e", try: func() verdict { return verdict{by: "x"} }},
	}
	var out bytes.Buffer
	got := run(t.Context(), all, 2, &exclusions{[]string{"msl/*"}}, &out)
	if got.escaped != 2 { // go/b, and msl/e whose exclusion is wrong
		t.Errorf("%d escaped; expected 2\n%s", got.escaped, out.String())
	}
	want := "msl  caught 0 of 0; 1 change nothing, 0 do not compile\ngo   caught 1 of 2; 0 change nothing, 1 do not compile\nmutations caught 1 of 2\n"
	if got.String() != want {
		t.Errorf("table\n%s; expected\n%s", got, want)
	}
}

// TestShared demands that an edit of a function that files share is made in all of
// them, and one of a kernel's own in its file only, whatever bundles run it.
func TestShared(t *testing.T) {
	r, err := newRig(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	for _, edits := range r.edits() {
		first := edits[0]
		made := map[string]bool{}
		for _, e := range edits {
			made[e.file] = true
			if e.In(e.source) == e.source {
				t.Errorf("%s: nothing changes", e.ID)
			}
		}
		if first.Function == "rank" && len(made) != len(files) || first.Function == "lm_head_body" && len(made) != 1 {
			t.Errorf("%s of %s is made in %v", first.ID, first.file, made)
		}
	}
}

// TestShapes: the tests that shapes names are there, in the tier that it asks for.
func TestShapes(t *testing.T) {
	files, err := filepath.Glob("../../gen/msl/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	deep := map[string]bool{} // by name of a test
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			deep[string(m[1])] = bytes.HasPrefix(text, []byte("//go:build deep"))
		}
	}
	for _, run := range slices.Concat(shapes[true], shapes[false]) {
		names := strings.Trim(run[len(run)-1], "^()$")
		for name := range strings.SplitSeq(names, "|") {
			if needs, ok := deep[name]; !ok || needs && !slices.Contains(run, "deep") {
				t.Errorf("%q does not run %s", run, name)
			}
		}
	}
}
