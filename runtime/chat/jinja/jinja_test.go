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
