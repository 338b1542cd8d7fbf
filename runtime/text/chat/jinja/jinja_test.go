package jinja

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// testTime is what strftime_now tells in testdata/reference.py.
var testTime = time.Date(2026, time.March, 4, 17, 5, 9, 81000, time.UTC)

func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// variables are those of testdata/variables.json, made anew.
func variables(t testing.TB) map[string]Value {
	t.Helper()
	var all map[string]json.RawMessage
	readJSON(t, "variables.json", &all)
	vars := map[string]Value{}
	for name, text := range all {
		v, err := FromJSON(text, false)
		if err != nil {
			t.Fatal(err)
		}
		vars[name] = v
	}
	return vars
}

func render(template string, vars map[string]Value) (string, error) {
	t, err := Parse(template)
	if err != nil {
		return "", err
	}
	return t.Render(context.Background(), vars, testTime)
}

// stricter are templates that jinja2 renders and this package refuses, with what it says.
var stricter = map[string]string{
	"{{ 5[1:] }}":          "cannot be sliced", // jinja2 computes constants in another way
	"{#":                   "a comment has no end",
	"{{ namespace }}":      "namespace is a function",
	"{{ l.append }}":       "append is a function",
	"{{ self }}":           "self is a function",
	"{{ 'a'.casefold() }}": "casefold of a str is not supported",
}

// TestCases compares with what jinja2 makes of the templates, and which variables it finds.
func TestCases(t *testing.T) {
	var cases []struct {
		Template, Text, Error string
		Reads                 []string
	}
	readJSON(t, "cases.json", &cases)
	if len(cases) < 250 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		got, err := render(c.Template, variables(t))
		if err != nil && strings.Contains(err.Error(), engineFailed) {
			t.Errorf("%s: %v", c.Template, err)
		}
		want, isStricter := stricter[c.Template]
		switch {
		case isStricter:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q, %v; expected an error with %q", c.Template, got, err, want)
			}
			continue
		case c.Error != "":
			if err == nil {
				t.Errorf("%s: %q, but jinja2 says %s", c.Template, got, c.Error)
			}
			continue
		case err != nil || got != c.Text:
			t.Errorf("%s\n got %q, %v\nwant %q", c.Template, got, err, c.Text)
			continue
		}
		parsed, _ := Parse(c.Template)
		if reads := parsed.Variables(); !slices.Equal(reads, c.Reads) {
			t.Errorf("%s reads %q, expected %q", c.Template, reads, c.Reads)
		}
	}
}

// TestAsWritten: JSON that is to stay as it is written does so until something in it changes.
func TestAsWritten(t *testing.T) {
	const text = `{"b":{"x":1.50},  "a":[1,2],"n":1e5}`
	for template, want := range map[string]string{
		"{{ v|tojson }}":                                          text,
		"{{ v.b|tojson }}{{ v.a|tojson }}":                        `{"x":1.50}[1,2]`,
		"{{ [v]|tojson }}":                                        "[" + text + "]",
		"{{ v|tojson(ensure_ascii=false) }}":                      text,
		"{{ v.n|tojson }} {{ v.a }}":                              "100000.0 [1, 2]",
		"{{ v|tojson(separators=(',', ':')) }}":                   `{"b":{"x":1.5},"a":[1,2],"n":100000.0}`,
		"{{ v.b|tojson(indent=1) }}":                              "{\n \"x\": 1.5\n}",
		"{{ v.a|tojson(sort_keys=true) }}":                        "[1, 2]",
		"{% do v.a.append(3) %}{{ v|tojson }}":                    `{"b": {"x": 1.5}, "a": [1, 2, 3], "n": 100000.0}`,
		"{% do v.b.update(y=2) %}{{ v|tojson }}":                  `{"b": {"x": 1.5, "y": 2}, "a": [1, 2], "n": 100000.0}`,
		"{% do v.pop('b') %}{{ v|tojson }}{{ v.a|tojson }}":       `{"a": [1, 2], "n": 100000.0}[1, 2]`,
		"{% do v.clear() %}{{ v|tojson }}":                        "{}",
		"{% set w = v.copy() %}{% do w.pop('b') %}{{ v|tojson }}": text,
	} {
		v, err := FromJSON([]byte(text), true)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := render(template, map[string]Value{"v": v}); err != nil || got != want {
			t.Errorf("%s: %q, %v; expected %q", template, got, err, want)
		}
	}
}

// TestErrors: an error says where and what.
func TestErrors(t *testing.T) {
	for template, want := range map[string]string{
		"a\n\n{{ b. }}":                           "line 3: unexpected }}, expected a name",
		"{% if 1 %}\nx\n{{ 1 / 0 }}{% endif %}":   "line 3: division by zero",
		"\n{% include 'x' %}":                     "line 2: the statement include is not supported: other templates cannot be read",
		"{{ 'a'|random }}":                        "line 1: the filter random is not supported: a prompt has to be the same each time",
		"{{ lipsum() }}":                          "lipsum is not supported",
		"{% set x = {} %}\n{{ x.y.z }}":           "line 2: 'dict object' has no attribute 'y'",
		"{{ d.nope() }}":                          "'dict object' has no attribute 'nope'",
		"\n{{ raise_exception('Roles!') }}":       "line 2: Roles!",
		"{% for x in [1] %}{% if x %}":            "line 1: the template ends within a block; expected endif",
		"{{ strftime_now('%Q') }}":                "the directive %Q is not supported",
		"{{ strftime_now('%') }}":                 "the directive % is not supported",
		"{{ '\\N{BULLET}' }}":                     "characters by their names",
		"{{ " + strings.Repeat("9", 5000) + " }}": "more than 16384 bits",
	} {
		if got, err := render(template, variables(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; expected %q", template, got, err, want)
		}
	}
	for _, text := range []string{"", "{", `{"a"}`, "1 2", strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat("9", 5000)} {
		if v, err := FromJSON([]byte(text), false); err == nil {
			t.Errorf("%.20s is %v", text, v)
		}
	}
}
