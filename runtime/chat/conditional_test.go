package chat

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestConstructs compares with what Python's jinja2 3.1.6 makes of the same template.
func TestConstructs(t *testing.T) {
	template, err := os.ReadFile("testdata/constructs.jinja")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/constructs.golden")
	if err != nil {
		t.Fatal(err)
	}
	r, err := For(string(template), Hints{BOS: "<s>", EOS: "</s>"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Render([]Message{{Role: System, Content: "Be  brief."}, {Role: User, Content: "U"},
		{Role: Assistant, Content: "a</think>b</think>c d  e"}, {Role: User, Content: " V\n w "}}, Options{AddGenerationPrompt: true})
	if err != nil || got != string(want) {
		t.Errorf("%v\n got %q\nwant %q", err, got, want)
	}
	if stops := strings.Join(r.Stops(), " "); stops != "</s> <|message_sep|>" {
		t.Errorf("ends of a turn: %s", stops)
	}
}

// TestConditionals: each text with what it prints; none may be read as something else.
func TestConditionals(t *testing.T) {
	for text, want := range map[string]string{
		"{{ 'a' if true else 'b' }}":                                            "a",
		"{{ ('a' if false else 'b') }}":                                         "b",
		"{{ ('' if true else 'b') ~ 'c' }}":                                     "c",
		"{{ 'x' ~ ('a' if false) ~ 'y' }}":                                      "xy",
		"{{ 'a' if false else 'b' if false else 'c' }}":                         "c",
		"{{ ('a' if false else 'b' if true else 'c') }}":                        "b",
		"{{ [1 if false else 2, 3] | join(',') }}":                              "2,3",
		"{{ {'k': 1 if false else 2}['k'] }}":                                   "2",
		"{{ dict(x=1 if false else 2).x }}":                                     "2",
		"{{ ('a' if ('b' if false else '') else 'c') }}":                        "c",
		"{{ ('if' if 'else' == 'else' else 'else') }}":                          "if",
		"{% set x = 'a' if false else 'b' if true else 'c' %}{{ x }}":           "b",
		"{% set x = ['a' if true else 'b'] %}{{ x[0] }}":                        "a",
		"{% for x in [1, 2, 3] if x != 2 %}{{ x }}{% endfor %}":                 "13",
		"{% for x in ([1, 2] if false else [3]) if x > 1 %}{{ x }}{% endfor %}": "3",
		"{% if ('' if true else 'b') %}y{% else %}n{% endif %}":                 "n",
		"{{ 'abc'[1 if true else 0] }}":                                         "b",
		"{{ 'x if y else z' }}":                                                 "x if y else z",
		"a if b else c":                                                         "a if b else c",
		"{# ('a' if b else c) #}{{ 1 }}":                                        "1",
		"{% raw %}{{ ('a' if b else c) }}{% endraw %}":                          "{{ ('a' if b else c) }}",
	} {
		r, err := For(text, Hints{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := r.Render(nil, Options{}); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"{{ ('a' if ", "{{ ( if else ) }}", "{% set", "{{", "{% (", strings.Repeat("{{ ('a' if b else ", 60)} {
		if _, err := For(text, Hints{}); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	deep := "{{ (" + strings.Repeat("1 if x else ", 40) + "2) }}"
	if _, err := For(deep, Hints{}); err == nil || !strings.Contains(err.Error(), "nested brackets") {
		t.Errorf("a long chain: %v", err)
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"{{ 'a,b,c'.split(',') | join('_') }}":                  "a_b_c",
		"{{ 'a,b,c'.split(',', 1) | join('_') }}":               "a_b,c",
		"{{ 'a,b,c'.split(',', 0) | join('_') }}":               "a,b,c",
		"{{ 'a,b,c'.split(sep=',', maxsplit=1) | join('_') }}":  "a_b,c",
		"{{ '  a \n b  '.split() | join('_') }}":                "a_b",
		"{{ '  a \n b  c '.split(maxsplit=1) | join('_') }}":    "a_b  c ",
		"{{ ''.split(',') | length }}{{ ''.split() | length }}": "10",
		"{{ 'x</think>y</think>z'.split('</think>')[-1] }}":     "z",
	} {
		r, err := For(text, Hints{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Render(nil, Options{}); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"{{ 'a'.split('') }}", "{{ 'a'.split(',', 'x') }}", "{{ 'a'.split(',', 1, 2) }}"} {
		if r, err := For(text, Hints{}); err == nil {
			if got, err := r.Render(nil, Options{}); err == nil {
				t.Errorf("%s: %q", text, got)
			}
		}
	}
}

func TestStrftime(t *testing.T) {
	day := time.Date(2026, time.March, 4, 17, 5, 9, 0, time.UTC)
	for format, want := range map[string]string{
		"%Y-%m-%d": "2026-03-04", "%d %B %Y": "04 March 2026", "%b %y, %A %a": "Mar 26, Wednesday Wed", "%H:%M:%S %I%p": "17:05:09 05PM", "100%%, day %j": "100%, day 063", "": "",
	} {
		if got, err := strftime(day, format); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", format, got, err, want)
		}
	}
	for _, format := range []string{"%", "%Q", "a%"} {
		if got, err := strftime(day, format); err == nil {
			t.Errorf("%s: %q", format, got)
		}
	}
	r, err := For("{{ strftime_now('%Y') }}", Hints{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Render(nil, Options{}); err != nil || len(got) != 4 {
		t.Errorf("%q, %v", got, err)
	}
}
