package pattern

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"mla/tools/tests/processor"
)

func automaton(t testing.TB, text string) Automaton {
	t.Helper()
	w := NewWork(t.Context(), 1<<22)
	n, err := w.Parse(text)
	var a Automaton
	if err == nil {
		a, err = w.Automaton(n)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

// TestPatterns are patterns whose meaning Go's regexp does not have, or has otherwise.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		text    string
		yes, no []string
	}{
		{`^(?=.*\d)(?=.*[a-z]).{4,}$`, []string{"abc1", "1aaa", "x9xxx"}, []string{"abcd", "1234", "a1"}},
		{`^(?!foo|bar).*$`, []string{"", "fo", "xfoo"}, []string{"foo", "bar", "fooo"}},
		{`^(?:(?!--).)*$`, []string{"", "a-b", "-"}, []string{"a--b", "--"}},
		{`^(?=ab)abc|x$`, []string{"abc", "abcd", "yx"}, []string{"ab", "xy"}},
		{`\bcat\b`, []string{"cat", "a cat.", "cat cat"}, []string{"cats", "concat", "_cat"}},
		{`\Bat`, []string{"cat"}, []string{"at", "at all"}},
		{`a^b|c`, []string{"c"}, []string{"ab", "a"}},
		{`(^a|b$)`, []string{"ax", "xb"}, []string{"xa", "bx"}},
		{`^\s\S$`, []string{" a"}, []string{"\u00a0a", " \u00a0", "aa"}},
		{`^[^\s]$`, []string{"a"}, []string{" ", "\u00a0"}},
		{`^\p{Lu}\p{Script=Greek}$`, []string{"Aα"}, []string{"aα", "AA"}},
		{`^\u{1F600}[\uD83D\uDE00-\u{1F610}]$`, []string{"😀😁"}, []string{"😀"}},
		{`^a{,2}b{x}$`, []string{"a{,2}b{x}"}, []string{"aab"}},
		{`^[\w.-]+@[-\]]$`, []string{"a.b-@-", "a@]"}, []string{"@-"}},
		{`(?i)^é(?-i:x)?`, nil, nil},
		{`^(?<year>\d{4})-(?:\d\d)?$`, []string{"2020-", "2020-12"}, []string{"2020"}},
		{`^(a*)*$`, []string{"", "aaa"}, []string{"b"}},
		{`^(a|(?=b))*b$`, []string{"b", "aab"}, []string{"ab a"}},
		{`^.$`, []string{"é", "😀"}, []string{"\n", "\u2028", ""}},
	} {
		if c.yes == nil {
			if _, err := NewWork(t.Context(), 1<<20).Parse(c.text); err == nil {
				t.Errorf("%s is taken", c.text)
			}
			continue
		}
		a := automaton(t, c.text)
		for _, text := range c.yes {
			if !a.Accepts(text) {
				t.Errorf("%s refuses %q", c.text, text)
			}
		}
		for _, text := range c.no {
			if a.Accepts(text) {
				t.Errorf("%s accepts %q", c.text, text)
			}
		}
	}
}

// TestErrors are patterns that are wrong, not supported, or too large.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"(": "has no end", ")": "unexpected )", "[a": "too early", "a**": "repetition of a repetition", "*": "nothing stands", `\1`: "references", `(?<=a)b`: "lookbehinds",
		`\q`: "not supported", `\p{Nope}`: "not known", "[b-a]": "range", "a{2,1}": "at least 2", "a{99999}": "more than", `\xg0`: "hexadecimal", "\xff": "UTF-8",
		strings.Repeat("(", 200): "groups within", strings.Repeat("a", maxText+1): "bytes",
		"(((a{1000}){1000}){1000})": "too large", "((((){10000}){10000}){10000})": "too large", "(x|y)*x(x|y){40}": "too large", `^(?=(a|b)*a(a|b){18}$)(a|b)*$`: "too large",
	} {
		start := processor.Time(t)
		w := NewWork(t.Context(), 1<<20)
		n, err := w.Parse(text)
		if err == nil {
			_, err = w.Automaton(n)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v; expected %s", text, err, want)
		}
		if took := processor.Time(t) - start; took > 5*time.Second {
			t.Errorf("%.60q took %v", text, took)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("left")
	cancel(left)
	if _, err := NewWork(ctx, 1<<30).Parse("(((a{1000}){1000}){1000})"); !errors.Is(err, left) {
		t.Error(err)
	}
}

// TestFormulas: what languages have in common, and what they leave out.
func TestFormulas(t *testing.T) {
	w := NewWork(t.Context(), 1<<22)
	a, err := w.Parse("^[a-m]+$")
	if err != nil {
		t.Fatal(err)
	}
	short, err := w.Length(2, 3)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"ab": true, "abc": true, "a": false, "abcd": false, "az": false, "bad": false} {
		both, err := w.Automaton(And(a, short, Not(Text("bad"))))
		if err != nil || both.Accepts(text) != want {
			t.Errorf("%s: %v, %v", text, !want, err)
		}
		other, err := w.Automaton(Not(And(a, short, Not(Text("bad")))))
		if err != nil || other.Accepts(text) == want {
			t.Errorf("not %s: %v, %v", text, want, err)
		}
	}
	for _, n := range []Language{And(a, Text("z")), And(a, Not(a)), Not(All), Never} {
		none, err := w.Automaton(n)
		if err != nil || !none.IsEmpty() {
			t.Errorf("%v, %v", none, err)
		}
	}
}

// FuzzPattern compares patterns with Go's regexp where that reads them, too.
func FuzzPattern(f *testing.F) {
	f.Add(`^a+[0-9]$|b`, "aa1")
	f.Add(`(a|bc)*?x{2,3}\b`, "abcxx")
	f.Add(`(?i)K\w[^a-c\d]`, "kax")
	f.Fuzz(func(t *testing.T, text, input string) {
		if len(text) > 100 || len(input) > 20 || strings.ContainsAny(text, "\\?.") && regexp.MustCompile(`\\[^bdwDW]|\(\?[^:i]|\.|\[\[|\?[a-z]*-`).MatchString(text) || strings.Contains(text, "[[:") {
			return
		}
		w := NewWork(context.Background(), 1<<18)
		n, err := w.Parse(text)
		if err != nil {
			return
		}
		a, err := w.Automaton(n)
		if err != nil {
			return
		}
		re, err := regexp.Compile(text)
		if err != nil || strings.ToValidUTF8(input, "") != input {
			return
		}
		if got, want := a.Accepts(input), re.MatchString(input); got != want {
			t.Errorf("%q of %q: %v", text, input, got)
		}
	})
}
