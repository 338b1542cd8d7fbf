package jinja

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// seeds are the templates of cases.json.
func seeds(f *testing.F) {
	var cases []struct{ Template string }
	readJSON(f, "cases.json", &cases)
	for _, c := range cases {
		f.Add(c.Template)
	}
}

// FuzzParse: any text is parsed or refused, and by no fault of this package.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, template string) {
		parsed, err := Parse(template)
		if err != nil {
			if strings.Contains(err.Error(), engineFailed) {
				t.Error(err)
			}
			return
		}
		for _, name := range parsed.Variables() {
			if !parsed.Reads(name) || globals[name] != nil {
				t.Errorf("%q is no variable", name)
			}
		}
	})
}

// FuzzRender: a template ends, by no fault of this package, and twice with the same text.
func FuzzRender(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, template string) {
		text, err := render(template, variables(t))
		if err != nil && strings.Contains(err.Error(), engineFailed) {
			t.Fatal(err)
		}
		again, err2 := render(template, variables(t))
		if text != again || (err == nil) != (err2 == nil) {
			t.Errorf("%q, %v; again %q, %v", text, err, again, err2)
		}
		if err == nil && utf8.ValidString(template) && !utf8.ValidString(text) {
			t.Errorf("a broken character in %q", text)
		}
	})
}

// FuzzJSON: what is read can be written, and read again as the same.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"a": [1, 2.5, 1e5, null, true], "b": "\u2028é\ud800"}`, "36893488147419103232", `[{}]`, `{"a": 1, "a": 2}`, "1e400", "-0.0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := FromJSON([]byte(text), true)
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is no JSON", text)
		}
		written, err := ToJSON(v)
		if err != nil || strings.Contains(written, "Infinity") {
			return // too long an integer, or no number of JSON
		}
		again, err := FromJSON([]byte(written), false)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, written, err)
		}
		if s := newState(t.Context(), nil, testTime); !s.equal(v, again) {
			t.Errorf("%q became %q", text, written)
		}
	})
}
