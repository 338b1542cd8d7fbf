package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const shipped = "../../testdata/tinyglm.gguf"

// answers reads the lines of a batch.
func answers(t *testing.T, out string) (list []answer) {
	t.Helper()
	for line := range strings.Lines(out) {
		var a answer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, a)
	}
	return list
}

// TestBatch wants of every line what its prompt gives alone, in the order of the lines,
// however many run at a time.
func TestBatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prompts")
	text := "func \r\n\n" + `{"prompt": "type T struct", "n": 12, "temp": 0.7, "seed": 3}` + "\n" +
		`{"prompt": "package", "stop": ["\n"]}` + "\nif err != nil {\nfunc "
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := []int{1, 3, 4, 5, 6}
	alone := [][]string{
		{"-p", "func "}, {"-p", "type T struct", "-n", "12", "-temp", "0.7", "-seed", "3"}, {"-p", "package", "-stop", "\n"}, {"-p", "if err != nil {"}, {"-p", "func "},
	}
	var want []string
	for _, args := range alone {
		r := mlarun("", append([]string{"-device", "cpu", "-quiet", "-model", shipped, "-n", "20", "-temp", "0"}, args...)...)
		if r.code != 0 {
			t.Fatal(r.err)
		}
		want = append(want, r.out)
	}
	for _, parallel := range []string{"1", "2", "50"} {
		r := mlarun("", "-device", "cpu", "-model", shipped, "-n", "20", "-temp", "0", "-parallel", parallel, "-f", file)
		got := answers(t, r.out)
		if r.code != 0 || len(got) != len(want) || !strings.Contains(r.err, "5 prompts of ") {
			t.Fatalf("-parallel %s: code %d, %d lines\n%s", parallel, r.code, len(got), r.err)
		}
		for i, a := range got {
			if a.Text != want[i] || a.Line != lines[i] || a.Error != "" {
				t.Errorf("-parallel %s, line %d: %+v; alone %q", parallel, lines[i], a, want[i])
			}
		}
		if got[1].Tokens != 12 || got[2].End != "stop" || got[0].End != "length" {
			t.Errorf("-parallel %s: %+v", parallel, got)
		}
	}
}

// TestBatchSystem: with a system message, every line is a message of a chat.
func TestBatchSystem(t *testing.T) {
	r := chatWith("hello\nbye\n", "-sys", "Be brief.", "-parallel", "2", "-")
	got := answers(t, r.out)
	if r.code != 0 || len(got) != 2 {
		t.Fatalf("code %d, %+v\n%s", r.code, got, r.err)
	}
	for i, text := range []string{"hello", "bye"} {
		if want := strings.TrimSuffix(chatWith("", "-p", text, "-sys", "Be brief.").out, "\n"); got[i].Text != want {
			t.Errorf("%q: %q; alone %q", text, got[i].Text, want)
		}
	}
}

// TestBatchFailures: a prompt that cannot be run does not keep the others from it.
func TestBatchFailures(t *testing.T) {
	long := strings.Repeat("func f() {}\\n", 20)
	r := mlarun("a\n{\"prompt\": \""+long+"\"}\nb\n", "-device", "cpu", "-model", shipped, "-n", "3", "-c", "16", "-parallel", "2", "-")
	got := answers(t, r.out)
	if r.code != 1 || len(got) != 3 || !strings.Contains(r.err, "1 of 3 prompts failed") {
		t.Fatalf("code %d, %+v\n%s", r.code, got, r.err)
	}
	if got[0].Error != "" || got[2].Error != "" || !strings.Contains(got[1].Error, "do not fit the context of 16; -c ") || got[0].Tokens != 3 || got[2].Tokens != 3 {
		t.Errorf("%+v", got)
	}
	for text, want := range map[string]string{
		"a\n{\"promt\": 1}":                 `line 2: json: unknown field "promt"`,
		"{}":                                `line 1: "prompt" is missing or empty`,
		"{\"prompt\": \"\"}":                `line 1: "prompt" is missing or empty`,
		"{\"prompt\": \"a\"} x":             "line 1: more than one object",
		"{\"prompt\": \"a\"":                "line 1: unexpected EOF",
		"{\"prompt\": \"a\", \"n\": -2}":    `line 1: "n" is -2`,
		"{\"prompt\": \"a\", \"n\": 1e99}":  `line 1: "n" is a number 1e99; expected a whole number`,
		"{\"prompt\": \"a\", \"temp\": -1}": "line 1: ",
		"\n \n":                             "there is no prompt",
		"":                                  "there is no prompt",
		"{\"prompt\": \"a\", \"seed\": -1}": `line 1: "seed" is a number -1; expected a whole number from 0 on`,
		`{"prompt": 5}`:                     `line 1: "prompt" is a number; expected a string`,
	} {
		if r := mlarun(text, "-device", "cpu", "-model", shipped, "-parallel", "2", "-"); r.code != 1 || r.out != "" || !strings.Contains(r.err, want) {
			t.Errorf("%q: code %d, %s; want %q", text, r.code, r.err, want)
		}
	}
}

// TestBatchOutput: an output that takes nothing ends the batch with its error.
func TestBatchOutput(t *testing.T) {
	full := errors.New("full")
	s := &running{settings: &settings{flags: &flags{env: &env{out: failing{full}}}}, answers: make([]*answer, 2), bar: &progress{}}
	s.finish(1, &answer{})
	if s.printed != 0 || s.err != nil {
		t.Errorf("%d printed before the first, %v", s.printed, s.err)
	}
	s.finish(0, &answer{})
	if !errors.Is(s.err, full) {
		t.Error(s.err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
