package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const pairSchema = `{"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}, "kind": {"enum": ["func", "type"]}, "lines": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 99}, "maxItems": 4}},
	"required": ["name", "kind", "lines"], "additionalProperties": false}`

// checkPair fails for a text that is not valid by the schema.
func checkPair(t *testing.T, text string) {
	t.Helper()
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(pairSchema))
	if err == nil {
		err = c.AddResource("mem:pair", doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = c.MustCompile("mem:pair").Validate(v)
	}
	if err != nil {
		t.Errorf("%q: %v", text, err)
	}
}

// TestServeStructured samples from the small model, which knows only Go, at the highest
// temperature: what comes to its end is valid.
func TestServeStructured(t *testing.T) {
	choices, _ := asked(t, map[string]any{"prompt": "func ", "max_tokens": 150, "n": 8, "seed": 3, "temperature": 2, "top_k": 0, "top_p": 1, "min_p": 0,
		"json_schema": json.RawMessage(pairSchema)}, "-parallel", "4", "-queue", "16")
	finished := 0
	for _, c := range choices {
		if c.Finish == "stop" {
			finished++
			checkPair(t, c.Text)
		}
	}
	if finished < 6 {
		t.Errorf("only %d of %d came to their end", finished, len(choices))
	}
}

func TestGrammarFlags(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	schema := file("pair.json", pairSchema)
	args := []string{"-model", shipped, "-p", "func ", "-n", "150", "-temp", "2", "-top-p", "1", "-min-p", "0", "-top-k", "0", "-seed", "7", "-quiet", "-json-schema", schema}
	plain := mlarun("", args...)
	if plain.code != exitOK {
		t.Fatalf("%+v", plain)
	}
	checkPair(t, plain.out)
	if drafted := mlarun("", append(args, "-draft", "ngram")...); drafted.out != plain.out {
		t.Errorf("with guesses %q; without %q", drafted.out, plain.out)
	}
	gbnf := file("a.gbnf", `root ::= "(" [a-z]{3} ")"`)
	if r := mlarun("", "-model", shipped, "-p", "func ", "-quiet", "-grammar", gbnf); r.code != exitOK || len(strings.TrimSuffix(r.out, "\n")) != 5 || r.out[0] != '(' {
		t.Errorf("%+v", r)
	}
	if r := mlarun("", "-model", shipped, "-p", "func \ntype ", "-parallel", "2", "-n", "20", "-quiet", "-grammar", gbnf); r.code != exitOK || strings.Count(r.out, `"text":"(`) != 2 || strings.Count(r.out, `"end":"stop"`) != 2 {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-grammar", file("bad.gbnf", "root ::= x")}, "bad.gbnf:1:10: the rule x is not there"},
		{[]string{"-json-schema", file("bad.json", `{"type": "array", "uniqueItems": true}`)}, `bad.json: #: the keyword "uniqueItems" is not supported`},
		{[]string{"-grammar", "/dev/zero"}, "/dev/zero has more than"},
		{[]string{"-json-schema", "/dev/zero"}, "/dev/zero has more than"},
		{[]string{"-grammar", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"-grammar", gbnf, "-json-schema", schema}, "cannot be used together"},
	} {
		r := mlarun("", append([]string{"-model", shipped, "-p", "func ", "-quiet"}, c.args...)...)
		if r.code == exitOK || !strings.Contains(r.err, c.want) {
			t.Errorf("%q: %+v; expected %q", c.args, r, c.want)
		}
	}
}
