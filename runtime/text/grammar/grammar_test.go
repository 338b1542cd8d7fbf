package grammar

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mla/tools/tests/processor"
)

// toyVocabulary has the bytes, some longer tokens, a control token and an end token.
func toyVocabulary(more ...string) *Vocabulary {
	list := []Token{{Bytes: []byte("<|end|>"), Control: true, End: true}, {Bytes: []byte("<|call|>"), Control: true}}
	for b := range 256 {
		list = append(list, Token{Bytes: []byte{byte(b)}})
	}
	for _, text := range more {
		list = append(list, Token{Bytes: []byte(text)})
	}
	return NewVocabulary(len(list), func(id int32) Token { return list[id] })
}

func compile(t testing.TB, source string, v *Vocabulary) *Compiled {
	t.Helper()
	g, err := ParseGBNF(source)
	if err != nil {
		t.Fatalf("%s\n%v", source, err)
	}
	c, err := Compile(t.Context(), g, v)
	if err != nil {
		t.Fatalf("%s\n%v", source, err)
	}
	return c
}

// accepts says whether a text follows a grammar from its beginning to its end.
func accepts(c *Compiled, text string) bool {
	m := c.NewMatcher()
	return m.AcceptText([]byte(text)) == nil && m.CanEnd()
}

const jsonGBNF = `
# JSON
root   ::= value
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws ( pair ( "," ws pair )* )? ws "}"
pair   ::= string ":" ws value
array  ::= "[" ws ( value ("," ws value)* )? ws "]"
string ::= "\"" ( [^"\\\x00-\x1F] | "\\" ( ["\\/bfnrt] | "u" [0-9a-fA-F]{4} ) )* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws     ::= [ \t\n]{0,20}
`

func TestAccepts(t *testing.T) {
	v := toyVocabulary()
	for _, c := range []struct {
		source  string
		yes, no []string
	}{
		{`root ::= "a" | "b"`, []string{"a", "b"}, []string{"", "c", "ab"}},
		{"root ::= \"a\" x?\nx ::= \"b\" root", []string{"a", "aba", "ababa"}, []string{"ab", "b"}},
		{`root ::= [a-cé]+`, []string{"a", "abcé", "ééé"}, []string{"", "d", "\xc3", "è"}},
		{`root ::= [^a]`, []string{"b", "é", "😀", "\x00"}, []string{"a", "", "bb", "\xff", "\xed\xa0\x80"}},
		{`root ::= .`, []string{"a", "\n", "\U0010FFFF"}, []string{"", "ab", "\xf4\x90\x80\x80", "\x80"}},
		{`root ::= "a"{2}`, []string{"aa"}, []string{"a", "aaa", ""}},
		{`root ::= "a"{2,}`, []string{"aa", "aaaaa"}, []string{"a"}},
		{`root ::= "a"{1,3}`, []string{"a", "aaa"}, []string{"", "aaaa"}},
		{`root ::= "a"{0}`, []string{""}, []string{"a"}},
		{`root ::= ("a" | "b" "c")* "d"`, []string{"d", "abcd", "bcbcd"}, []string{"abd"}},
		{"root ::= (\n \"a\" # first\n | \"b\"\n)\n", []string{"a", "b"}, []string{"ab"}},
		{`root ::= "\x41\u00e9\U0001F600\"\n"`, []string{"Aé😀\"\n"}, []string{"A"}},
		{"root ::= x x\nx ::= y*\ny ::= \"a\"", []string{"", "a", "aaaa"}, []string{"b"}},
		{"root ::= \"(\" root \")\" | \"\"", []string{"", "()", "((()))"}, []string{"(", "())"}},
		{"root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"\"", []string{"", "aa", "abba", "aabbaa"}, []string{"ab", "aaa"}},
		{"root ::= \"a\" root root | \"\"", []string{"", "a", "aaaaaaaa"}, []string{"b"}},
		{"root ::= x | y\nx ::= \"a\" x \"c\" | \"b\"\ny ::= \"a\" y \"d\" | \"b\"", []string{"b", "abc", "aaabddd"}, []string{"aabcd"}},
		{"root ::= (x | y) \"z\"\nx ::= \"1\"*\ny ::= \"1\" \"2\"?", []string{"z", "11z", "12z", "1z"}, []string{"2z"}},
		{"root ::= \"a\" dead | \"b\"\ndead ::= \"x\" dead", []string{"b"}, []string{"a", "ax"}},
		{`root ::= <|call|> "x"`, []string{"\xff<|call|>x"}, []string{"<|call|>x"}},
		{"root ::= \"a\" |\n  \"b\"", []string{"a", "b"}, nil},
		{jsonGBNF, []string{`{}`, `[1, 2.5e-3, {"a": [true]}]`, `"é\u00e9\""`, `-0`, "{ \"a\":\n 1}"}, []string{`{`, `{"a"}`, `01`, `"`, `[1,]`, "\"\x01\"", `{"a":1}}`}},
	} {
		g := compile(t, c.source, v)
		for _, text := range c.yes {
			if !accepts(g, text) {
				t.Errorf("%s\nrefuses %q", c.source, text)
			}
		}
		for _, text := range c.no {
			if accepts(g, text) {
				t.Errorf("%s\naccepts %q", c.source, text)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"", "1:1: the rule root is not there"},
		{"x ::= \"a\"", "1:1: the rule root is not there"},
		{"root ::= x", "1:10: the rule x is not there"},
		{"root ::= \"a\"\nroot ::= \"b\"", "2:1: the rule root is there twice"},
		{"root = \"a\"", "1:6: expected ::="},
		{"root ::= \"a", "1:12: the text has no closing quote"},
		{"root ::= [a", "1:12: the class has no closing bracket"},
		{"root ::= [b-a]", "1:14: a range that ends before it begins"},
		{"root ::= (\"a\"", "1:14: expected )"},
		{"root ::= \"a\")", "1:13: expected the end of the line"},
		{"root ::= \"a\"{", "1:14: expected a number"},
		{"root ::= \"a\"{3,2}", "1:17: at least 3 times and at most 2"},
		{"root ::= \"a\"{1", "1:15: expected }"},
		{"root ::= \"a\"{99999999999999999999}", "1:18: more than 65536 times"},
		{"root ::= \"\\q\"", "1:12: an unknown escape"},
		{"root ::= \"\\u12\"", "1:15: expected 4 hexadecimal digits"},
		{"root ::= \"\\uD800\"", "1:17: no character has the number d800"},
		{"root ::= é", "1:10: expected the end of the line"},
		{"root ::= <>", "1:10: expected a token"},
		{"root ::= <[x]>", "1:12: expected a number"},
		{"root ::= <[99999999]>", "more than the token"},
		{"root ::= <[7777]>", "there is no token 7777"},
		{"root ::= !\"a\"", "expected a token"},
		{"root ::= <nope>", "the control token <nope> is not in the model's vocabulary"},
		{"root ::= r0\n" + nested(3000), "nested too deep"},
		{"\xff", "not UTF-8"},
		{"root ::= " + strings.Repeat("(", 1000), "more than 200 parentheses"},
		{"root ::= " + strings.Repeat(" ", maxSource), "at most 1048576"},
		{"root ::= root \"a\" | \"b\"", "the rule root begins with itself"},
		{"root ::= x? root \"a\" | \"b\"\nx ::= \"y\"", "begins with itself"},
		{"root ::= x \"a\" | \"b\"\nx ::= y\ny ::= \"\" root", "begins with itself"},
		{"root ::= \"a\" root", "the rule root has no end"},
		{"root ::= []", "the rule root has no end"},
		{"root ::= (((((\"a\"{60000}){60000}){60000}){60000}){60000})", "too large"},
		{"root ::= (\"a\" | \"b\")* \"a\" (\"a\" | \"b\"){30}", "too large"}, // 2^30 sets
	} {
		start := processor.Time(t)
		g, err := ParseGBNF(c.source)
		if err == nil {
			_, err = Compile(t.Context(), g, toyVocabulary())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v; expected %q", c.source, err, c.want)
		}
		if took := processor.Time(t) - start; took > 20*time.Second { // without a bound it would never end
			t.Errorf("%.60q took %v", c.source, took)
		}
	}
}

// nested are rules within rules, which all have something after them.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "r%d ::= r%d \"x\"\n", i, i+1)
	}
	return b.String() + fmt.Sprintf("r%d ::= \"a\"", n)
}

// naive is the tokens that may come next, found by trying each.
func naive(m *Matcher) []uint32 {
	v := m.c.vocabulary
	mask := make([]uint32, v.Words())
	for id := range int32(v.size) {
		try := *m
		if try.Accept(id) == nil {
			mask[id/32] |= 1 << (id % 32)
		}
	}
	if m.CanEnd() {
		for _, id := range v.ends {
			mask[id/32] |= 1 << (id % 32)
		}
	}
	return mask
}

// TestMasks walks through grammars at random, and compares masks with tokens tried one by
// one.
func TestMasks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	v := toyVocabulary(`{"`, `":`, `": `, `",`, `", "`, `"}`, `}}`, `}]`, ` {`, `[[`, `]]`, `true`, `tru`, `:1`, `1,`, `12`, `a`, `ab"`, "\xc3\xa9", "\xa9\"", `\u00`, `0e`, `("`, "))", "aab", "<|call|>", "ba")
	for _, source := range []string{
		jsonGBNF,
		"root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"\"",
		"root ::= x (<|call|> x)*\nx ::= [^<]* | \"<|call|>\"",
		"root ::= (x | y) \"z\"\nx ::= \"1\"*\ny ::= \"1\" \"2\"?",
		"root ::= e\ne ::= t (\"+\" t)*\nt ::= [0-9]+ | \"(\" e \")\"",
		"root ::= x{0,40}\nx ::= " + strings.Repeat("(\"a\" | \"b\") | ", 20) + "\"c\"",
		"root ::= a | b | c\na ::= \"(\" root \"x\"\nb ::= \"(\" root \"y\"\nc ::= \"(\" root \"z\" | \"1\"",
	} {
		c := compile(t, source, v)
		for range 40 {
			m := c.NewMatcher()
			for range 30 {
				mask, err := m.Mask()
				if err != nil {
					t.Fatal(err)
				}
				if want := naive(m); !slices.Equal(mask, want) {
					t.Fatalf("%s\na mask is not what single tokens say: %x; expected %x", source, mask, want)
				}
				var ids []int32
				for id := range int32(v.size) {
					if Allows(mask, id) && len(v.bytes[id]) > 0 {
						ids = append(ids, id)
					}
				}
				if (len(ids) == 0) != m.MustEnd() {
					t.Fatalf("%s\n%d tokens, and MustEnd says %v", source, len(ids), m.MustEnd())
				}
				if len(ids) == 0 {
					break
				}
				if err := m.Accept(ids[rng.IntN(len(ids))]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestMarkerByte keeps the byte that stands in front of control tokens for these alone.
func TestMarkerByte(t *testing.T) {
	v := toyVocabulary("\xff<|call|>", "a\xff")
	m := compile(t, "root ::= <|call|> \"x\" | \"a\" <|call|>", v).NewMatcher()
	mask, err := m.Mask()
	if err != nil || !Allows(mask, 1) || !Allows(mask, 2+'a') || Allows(mask, 2+0xff) || Allows(mask, 2+256) || Allows(mask, 2+257) {
		t.Errorf("%x, %v", mask, err)
	}
	if m.Accept(2+0xff) == nil {
		t.Error("a byte is a marker")
	}
}

// TestTokens: tokens by their numbers, and any others.
func TestTokens(t *testing.T) {
	v := toyVocabulary("ab", "ba")
	ab, ba, end, call := int32(258), int32(259), int32(0), int32(1)
	for _, c := range []struct {
		source  string
		yes, no []int32
	}{
		{"root ::= <[258]> \"c\"", []int32{ab}, []int32{'a' + 2, ba, end, call}},
		{"root ::= \"a\" | <[258]>", []int32{'a' + 2, ab}, []int32{ba}},
		{"root ::= !<[258]>", []int32{'a' + 2, ba, end, call}, []int32{ab}},
		{"root ::= !<|call|> \"x\"", []int32{'a' + 2, ab, end}, []int32{call}},
		{"root ::= <|end|>", []int32{end}, []int32{call, ab}},
		{"root ::= (!<[258]>)* <[1]>", []int32{call, ba, end}, []int32{ab}},
	} {
		m := compile(t, c.source, v).NewMatcher()
		mask, err := m.Mask()
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
		}
		for n, list := range [][]int32{c.yes, c.no} {
			for _, id := range list {
				try := *m
				if want := n == 0; Allows(mask, id) != want || (try.Accept(id) == nil) != want {
					t.Errorf("%s: token %d: %v", c.source, id, !want)
				}
			}
		}
	}
	m := compile(t, "root ::= <[258]> <[259]> \"c\"", v).NewMatcher()
	if m.Accept(ab) != nil || m.Accept(ba) != nil || m.CanEnd() || m.Accept('c'+2) != nil || !m.CanEnd() {
		t.Error("tokens one after the other")
	}
}

// TestNothingFollows: where no token follows, a mask is an error of the grammar.
func TestNothingFollows(t *testing.T) {
	list := []Token{{End: true}, {Bytes: []byte("a")}, {Bytes: []byte("(")}}
	v := NewVocabulary(len(list), func(id int32) Token { return list[id] })
	m := compile(t, "root ::= \"a\" \"b\"", v).NewMatcher()
	if err := m.Accept(1); err != nil {
		t.Fatal(err)
	}
	var known *Error
	if mask, err := m.Mask(); !errors.As(err, &known) || !strings.Contains(err.Error(), "no token of the model can follow") {
		t.Errorf("%v, %v", mask, err)
	}
}

// TestForgets goes on through resets of what is kept.
func TestForgets(t *testing.T) {
	c := compile(t, "root ::= \"(\" root \")\" | [a-z]*", toyVocabulary("((", "))", "a)"))
	m := c.NewMatcher()
	for i := range 3 * 300 {
		if i%3 == 2 {
			c.graph.forget()
		}
		if err := m.Accept('(' + 2); err != nil {
			t.Fatal(err)
		}
		got, err := m.Mask()
		if want := naive(m); err != nil || !slices.Equal(got, want) {
			t.Fatalf("after %d: %v %x; expected %x", i, err, got, want)
		}
	}
	for range 3 * 300 {
		if m.CanEnd() {
			t.Fatal("it can end too early")
		}
		if err := m.Accept(')' + 2); err != nil {
			t.Fatal(err)
		}
	}
	if !m.CanEnd() || !m.MustEnd() {
		t.Error("it cannot end")
	}
	if m.Accept(0) == nil || m.Accept(-1) == nil || m.Accept(1<<20) == nil {
		t.Error("a token that is none is accepted")
	}
}

// TestDeep: rules are nested up to a limit, and no deeper.
func TestDeep(t *testing.T) {
	v := toyVocabulary("aaaa", "((((", strings.Repeat("a", 300))
	c := compile(t, "root ::= \"(\" root \")\" | \"a\"", v)
	m := c.NewMatcher()
	deep := 0
	for ; deep < 3*maxDepth && m.AcceptText([]byte("(")) == nil; deep++ {
	}
	if deep < maxDepth-10 || deep > maxDepth+10 {
		t.Errorf("%d rules within rules; expected about %d", deep, maxDepth)
	}
}

// TestUTF8Spans compares classes with Go's own decoding.
func TestUTF8Spans(t *testing.T) {
	for _, r := range []Range{{0, utf8.MaxRune}, {0x7e, 0x81}, {0x7fe, 0x801}, {0xfffe, 0x10001}, {0xd7fe, 0xe001}, {0x123, 0x4567}, {0x10ffff, 0x10ffff}, {0xd800, 0xdfff}, {5, 4}} {
		var patterns []string
		utf8Spans(r.Lo, r.Hi, func(spans []span) {
			one := ""
			for _, s := range spans {
				one += "[" + `\x{` + hex(s.lo) + `}-\x{` + hex(s.hi) + `}]`
			}
			patterns = append(patterns, one)
		})
		re := regexp.MustCompile("^(?:" + strings.Join(patterns, "|") + ")$")
		if len(patterns) == 0 {
			re = regexp.MustCompile(`^a\bb$`) // nothing
		}
		for c := rune(0); c <= utf8.MaxRune; c += 1 + c/97 {
			for _, c := range []rune{c, r.Lo, r.Hi, r.Lo - 1, r.Hi + 1} {
				if c < 0 || !utf8.ValidRune(c) {
					continue
				}
				latin := "" // Go's regexp is about characters, so a byte becomes one
				for _, b := range []byte(string(c)) {
					latin += string(rune(b))
				}
				if got, want := re.MatchString(latin), c >= r.Lo && c <= r.Hi; got != want {
					t.Fatalf("%v: %x: %v", r, c, got)
				}
			}
		}
	}
}

func hex(b byte) string { return string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15]) }

// FuzzGBNF reads anything without panic, and what it accepts has masks that are right.
func FuzzGBNF(f *testing.F) {
	for _, s := range []string{jsonGBNF, "root ::= \"a\"{2,3} [^a-z]? <|call|>", "root ::= x\nx ::= (\"a\" | \"b\" root)*", "root ::= root"} {
		f.Add(s)
	}
	v := toyVocabulary("aa", "a\"", "\xc3\xa9")
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 1<<12 {
			return
		}
		g, err := ParseGBNF(source)
		if err != nil {
			return
		}
		c, err := Compile(t.Context(), g, v)
		if err != nil {
			return
		}
		m := c.NewMatcher()
		for i := range 8 {
			mask, err := m.Mask()
			if err != nil {
				return
			}
			if want := naive(m); !slices.Equal(mask, want) {
				t.Fatalf("%x; expected %x", mask, want)
			}
			for id := range int32(v.size) {
				if at := (id + int32(i)*37) % int32(v.size); Allows(mask, at) && m.Accept(at) == nil {
					break
				}
			}
		}
	})
}
