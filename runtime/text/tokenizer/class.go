package tokenizer

import (
	"sync"
	"unicode"
)

// class is a set of character classes; one character may be in several.
type class uint32

const (
	clSpace       class = 1 << iota // \s, the Unicode White_Space property
	clBlank                         // U+0020 only
	clNewline                       // [\r\n]
	clSlash                         // /
	clLetter                        // \p{L}
	clNumber                        // \p{N}
	clUpperish                      // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	clLowerish                      // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	clHangul                        // youtu, first pass
	clCJKPunct                      // youtu, first pass
	clBopomofo                      // youtu, first pass
	clHanKana                       // youtu, first pass
	clCased                         // deepseek-llm, second pass
	clPunct                         // deepseek-llm, third pass
	clEastAsian                     // deepseek-llm, fifth pass
	clMark                          // \p{M}
	clPunctSymbol                   // [\p{P}\p{S}]
	clHan                           // \p{Han}
	clASCIIPunct                    // what ASCII has of clPunctSymbol
	clASCIILetter                   // [A-Za-z]
)

// classTables is the Unicode tables of a class.
var classTables = map[class][]*unicode.RangeTable{
	clSpace:       {unicode.White_Space},
	clLetter:      {unicode.L},
	clNumber:      {unicode.N},
	clUpperish:    {unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M},
	clLowerish:    {unicode.Ll, unicode.Lm, unicode.Lo, unicode.M},
	clMark:        {unicode.M},
	clPunctSymbol: {unicode.P, unicode.S},
	clHan:         {unicode.Han},
}

// classRanges gives the other classes as the inside of a regular expression's
// brackets: single characters and ranges a-b.
var classRanges = map[class]string{
	clBlank:       " ",
	clNewline:     "\r\n",
	clSlash:       "/",
	clHangul:      "가-힣ㄱ-ㆎ",
	clCJKPunct:    "！…“”‘’—：；，、-〿︰-﹏",
	clBopomofo:    "ㄅ-ㄯ",
	clHanKana:     "一-龥぀-ゟ゠-ヿ",
	clCased:       casedLetters,
	clPunct:       "!-/:-~！-／：-～‘-‟　-。",
	clEastAsian:   "一-龥ࠀ-一가-\uD7FF",
	clASCIIPunct:  "!-/:-@[-`{-~",
	clASCIILetter: "A-Za-z",
}

// casedLetters is the letter class of deepseek-llm: the letters of the scripts
// that have upper and lower case, as of Unicode 10, spelled out
// (characters that normalise to others are escaped).
const casedLetters = "" +
	"A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-Ί" +
	"ΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕ" +
	"ἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1F7Dᾀ-ᾴᾶ-ᾼ\u1FBEῂ-ῄῆ-ῌῐ-\u1FD3ῖ-\u1FDBῠ-Ῥῲ-ῴ" +
	"ῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212A-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃ" +
	"ↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ" +
	"𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"

// set is a bracket expression over classes: the union of bits, or if not is set its complement, without the
// classes of except. The zero set matches nothing.
type set struct {
	bits, except class
	not          bool
}

func in(bits class) set    { return set{bits: bits} }
func notIn(bits class) set { return set{bits: bits, not: true} }

func (s set) has(c class) bool { return (c&s.bits != 0) != s.not && c&s.except == 0 }

const (
	pageSize = 256
	pages    = (unicode.MaxRune + 1) / pageSize
)

// classTable maps characters to their classes in two steps: a page of 256 characters, then the character in
// it. Empty pages are shared.
type classTable [pages]*[pageSize]class

// classes is built once, on first use, from the tables above.
var classes = sync.OnceValue(func() *classTable {
	var t classTable
	empty := new([pageSize]class)
	for i := range t {
		t[i] = empty
	}
	add := func(lo, hi, stride rune, c class) {
		for r := lo; r <= hi; r += stride {
			page := &t[r/pageSize]
			if *page == empty {
				*page = new([pageSize]class)
			}
			(*page)[r%pageSize] |= c
		}
	}
	for c, tables := range classTables {
		for _, table := range tables {
			for _, r := range table.R16 {
				add(rune(r.Lo), rune(r.Hi), rune(r.Stride), c)
			}
			for _, r := range table.R32 {
				add(rune(r.Lo), rune(r.Hi), rune(r.Stride), c)
			}
		}
	}
	for c, brackets := range classRanges {
		for _, r := range parseRanges(brackets) {
			add(r[0], r[1], 1, c)
		}
	}
	return &t
})

func (t *classTable) of(r rune) class { return t[r/pageSize][r%pageSize] }

// parseRanges reads the inside of a bracket expression without escapes.
func parseRanges(brackets string) (ranges [][2]rune) {
	chars := []rune(brackets)
	for i := 0; i < len(chars); {
		if i+2 < len(chars) && chars[i+1] == '-' {
			ranges = append(ranges, [2]rune{chars[i], chars[i+2]})
			i += 3
			continue
		}
		ranges = append(ranges, [2]rune{chars[i], chars[i]})
		i++
	}
	return ranges
}
