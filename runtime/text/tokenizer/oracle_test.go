package tokenizer

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// oracle splits text with a regular expression engine and the expressions of
// testdata/pretokenizers.json.
type oracle map[string][]*regexp2.Regexp

func newOracle(t testing.TB) oracle {
	t.Helper()
	data, err := os.ReadFile("testdata/pretokenizers.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Pre map[string]struct {
			Passes       []string
			IgnoreMerges bool `json:"ignore_merges"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	o := oracle{}
	for name, pre := range file.Pre {
		if got := preTokenizers[name].ignoreMerges; got != pre.IgnoreMerges {
			t.Errorf("%s: ignoreMerges = %v, expected %v", name, got, pre.IgnoreMerges)
		}
		for _, expr := range pre.Passes {
			re := regexp2.MustCompile(expr, regexp2.None)
			re.MatchTimeout = 10 * time.Second
			o[name] = append(o[name], re)
		}
	}
	return o
}

// split applies the expressions one after the other to all pieces.
func (o oracle) split(t testing.TB, name, s string) []string {
	t.Helper()
	var pieces []string
	if s != "" {
		pieces = []string{s}
	}
	for _, re := range o[name] {
		var next []string
		for _, piece := range pieces {
			runes := []rune(piece)
			at := 0
			m, err := re.FindRunesMatch(runes)
			for ; m != nil && err == nil; m, err = re.FindNextMatch(m) {
				if m.Index > at {
					next = append(next, string(runes[at:m.Index]))
				}
				next = append(next, m.String())
				at = m.Index + m.Length
			}
			if err != nil {
				t.Fatalf("%s on %q: %v", re, piece, err)
			}
			if at < len(runes) {
				next = append(next, string(runes[at:]))
			}
		}
		pieces = next
	}
	return pieces
}

// pieces splits with the scanner under test.
func pieces(sc *scanner, name, s string) (out []string) {
	start := 0
	for _, end := range sc.split(s, preTokenizers[name].passes) {
		out = append(out, s[start:end])
		start = end
	}
	return out
}

func (o oracle) compare(t testing.TB, sc *scanner, s string) {
	t.Helper()
	for name := range o {
		want, got := o.split(t, name, s), pieces(sc, name, s)
		if !slices.Equal(got, want) {
			t.Errorf("%s splits %q\n got %q\nwant %q", name, s, got, want)
		}
	}
}

// adversarial has what is easy to get wrong: the optional first character,
// greedy runs that must give back, look-ahead at the end, classes that overlap.
var adversarial = []string{
	"", " ", "  ", "   x", "\t\n \n  x", "a\r\n\r\nb", " \n", "\n ", "x  ", "x \n ", "\u00a0\u3000x", "\u3000", " \u3000。", "\u2028\u2029",
	"'s", "'S it's IT'S we'Re we'rE 'll'LL'l 're're 'v 've've", "don't'd", "'", "''s", "a's's", "'ſ", "ſ's",
	"ABC", "ABc", "AbC", "ABCdef", "aB", "ǅ", "ǅa", "Aǅ", "ʰA", "Aʰ", "AʰB", "AʰBʰC", "ªºA", "AªBC", "中A", "A中B", "中a中",
	"\u0301", "\u0301A", "\u0301\u0301A", "A\u0301", "A\u0301B", " \u0301A", "e\u0301e", ".\u0301A", "\u0300\u0300",
	"123", "1234567", "½⅓Ⅷ", "１２３４", "٠١٢٣", "1a2b", " 1", " 12345",
	"!!!", " !!!\r\n\n", "!/\n/", " ?/\r/a", "$$a", "$a", " $a", "€£", "a.b.c", "...\n...", "\n!", "a!b",
	"가나다", "ㄱㄴA", "가a나", "ㄅㄆ", "，。", "！…", "“a”", "漢字かなカナ", "ｶﾅ", "漢a字", "龥龦", "一", "ༀ", "ࠀ", "Ⴀ", " Ⴀ", "가힣\uD7FF", "\U00020000", "𐐀𐐨", "𞤀𞤢", "𝐀𝐚", "🦙🦙", "👩‍👩‍👧", "\U0001F1E9\U0001F1EA",
	"\x00\x01", "\u200b", "\ufeff", "\u180e", "\u0085a", "\u1680", "K", "Ω", "ﬁ", "\U0010FFFF", "\uE000", "\uFFFD",
	"\v\f x", "a\vb", " \t ", "x\u00a0", "  \u00a0y", "a  b   c    ", "   \r\n   \n\t ",
}

func TestPreTokenizersAgreeWithRegexp(t *testing.T) {
	o, sc := newOracle(t), new(scanner)
	for _, s := range adversarial {
		o.compare(t, sc, s)
	}
	for _, c := range deepSeekCases(t) {
		o.compare(t, sc, c.Text)
	}
	// All pairs of texts, so that every ending meets every beginning.
	for _, a := range adversarial {
		for _, b := range adversarial {
			if len(a)+len(b) <= 16 {
				o.compare(t, sc, a+b)
			}
		}
	}
}

// TestClassesAgreeWithRegexp checks every character once, alone and where it
// could lead a word.
func TestClassesAgreeWithRegexp(t *testing.T) {
	o, sc := newOracle(t), new(scanner)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && (r < 0x3400 || r%64 == 0 || r >= 0xD7A0 && r < 0x12000) {
			o.compare(t, sc, string(r)+"a"+string(r))
		}
		if t.Failed() {
			return
		}
	}
}

func FuzzPreTokenizers(f *testing.F) {
	o := newOracle(f)
	for _, s := range adversarial {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 200 {
			return
		}
		o.compare(t, new(scanner), s)
	})
}
