package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDraft: with guesses the text is the same, greedy and with a seed, and a text that
// repeats itself has some of them right.
func TestDraft(t *testing.T) {
	args := []string{"-model", "../../testdata/tinyglm.gguf", "-p", strings.Repeat("func add(a, b int) int {\n\treturn a + b\n}\n\n", 4) + "func ", "-n", "96", "-device", "cpu", "-kv", "f32"}
	for _, more := range [][]string{{"-temp", "0"}, {"-temp", "0.7", "-seed", "5"}} {
		alone := mlarun("", append(args, more...)...)
		drafted := mlarun("", append(append(args, more...), "-draft", "ngram")...)
		if alone.code != 0 || drafted.code != 0 || alone.out != drafted.out {
			t.Errorf("%s: codes %d and %d\n%s\n%s", more, alone.code, drafted.code, alone.out, drafted.out+drafted.err)
		}
		if guesses := regexp.MustCompile(` [1-9]\d* of \d+ drafted tokens right`); strings.Contains(alone.err, "drafted") || !guesses.MatchString(drafted.err) {
			t.Errorf("%s: %s\n%s", more, alone.err, drafted.err)
		}
	}
	for _, tt := range []struct {
		args []string
		want string
	}{{[]string{"-draft", "x"}, `-draft is "x"; expected ngram or mtp`}, {[]string{"-draft-model", "x"}, "-draft-model goes with -draft mtp"}} {
		if r := mlarun("", append(args, tt.args...)...); r.code != 2 || !strings.Contains(r.err, tt.want) {
			t.Errorf("%s: code %d, %s", tt.args, r.code, r.err)
		}
	}
}

// TestDraftMTP: so it is with the layer that predicts, of the model's file or of another;
// without one, the message says what it takes. The prompt cache keeps that layer's rows too.
func TestDraftMTP(t *testing.T) {
	const model, alone = "../../testdata/models/glm47mtp-mini-Q4_K_M.gguf", "../../testdata/models/nextn/mtp-glm47mtp-mini-Q4_K_M.gguf"
	path := place(t, model, map[string][]byte{"my.mla": made(t, model, "a")})
	cache := filepath.Join(t.TempDir(), "cache")
	args := []string{"-model", path, "-p", "the quick brown", "-n", "40", "-device", "cpu", "-kv", "f32"}
	guesses := regexp.MustCompile(` [1-9]\d* of \d+ drafted tokens right`)
	for _, more := range [][]string{{"-temp", "0"}, {"-temp", "0.7", "-seed", "5"}} {
		want := onShelf("", append(args, more...)...)
		for _, draft := range [][]string{{}, {"-draft-model", alone}, {"-prompt-cache", cache}, {"-prompt-cache", cache}} {
			got := onShelf("", slices.Concat(args, more, []string{"-draft", "mtp"}, draft)...)
			if want.code != 0 || got.code != 0 || want.out != got.out || !guesses.MatchString(got.err) {
				t.Errorf("%s %s: codes %d and %d\n%s\n%s", more, draft, want.code, got.code, want.out, got.out+got.err)
			}
		}
	}
	if got := onShelf("", append(args, "-temp", "0", "-draft", "mtp", "-width", "1")...); got.code != 0 || strings.Contains(got.err, "guesses") {
		t.Errorf("-width 1: code %d, %s", got.code, got.err)
	}
	lines := "the quick brown\nthe quick\nthe quick brown fox\n{\"prompt\": \"lazy dog\", \"temp\": 0.7, \"seed\": 3}\n"
	texts := filepath.Join(t.TempDir(), "texts")
	if err := os.WriteFile(texts, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	several := []string{"-model", path, "-f", texts, "-n", "40", "-device", "cpu", "-kv", "f32", "-temp", "0", "-parallel", "2"}
	want := onShelf("", several...)
	for _, how := range []string{"mtp", "ngram"} {
		if got := onShelf("", append(several, "-draft", how)...); want.code != 0 || got.code != 0 || got.out != want.out {
			t.Errorf("-parallel, -draft %s: codes %d and %d\n%s\n%s", how, want.code, got.code, want.out, got.out+got.err)
		}
	}
	for file, want := range map[string]string{unseen: "has no layer that predicts", "missing": "no such file"} {
		if r := onShelf("", append(args, "-draft", "mtp", "-draft-model", file)...); r.code != 1 || !strings.Contains(r.err, want) {
			t.Errorf("code %d, %s; expected %s", r.code, r.err, want)
		}
	}
	if r := mlarun("", "-model", "../../testdata/tinyglm.gguf", "-p", "a", "-device", "cpu", "-draft", "mtp"); r.code != 1 || !strings.Contains(r.err, "-draft-model names a file that has") {
		t.Errorf("code %d, %s", r.code, r.err)
	}
}
