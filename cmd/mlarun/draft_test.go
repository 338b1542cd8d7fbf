package main

import (
	"regexp"
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
		if guesses := regexp.MustCompile(` [1-9]\d* of \d+ guesses right`); strings.Contains(alone.err, "guesses") || !guesses.MatchString(drafted.err) {
			t.Errorf("%s: %s\n%s", more, alone.err, drafted.err)
		}
	}
	for _, tt := range []struct {
		args []string
		want string
	}{{[]string{"-draft", "x"}, `-draft is "x"`}, {[]string{"-draft", "ngram", "-parallel", "2"}, "-draft is for one text"}} {
		if r := mlarun("", append(args, tt.args...)...); r.code != 2 || !strings.Contains(r.err, tt.want) {
			t.Errorf("%s: code %d, %s", tt.args, r.code, r.err)
		}
	}
}
