package grammar_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"mla/runtime/text/grammar"
	"mla/runtime/text/grammar/schema"
)

// glmTokens is the size of GLM-4.7-Flash's vocabulary.
const glmTokens = 154880

// largeVocabulary has the kinds of tokens that vocabularies of this size have: bytes,
// digits, words with and without a blank and a capital, halves of words, punctuation with
// quotes and brackets, indents, and characters of other scripts.
func largeVocabulary() (*grammar.Vocabulary, map[string]int32) {
	rng := rand.New(rand.NewPCG(1, 2))
	ids := map[string]int32{}
	var list []string
	add := func(text string) {
		if _, ok := ids[text]; !ok && len(list) < glmTokens-1 {
			ids[text] = int32(len(list))
			list = append(list, text)
		}
	}
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	for n := range 1000 {
		add(fmt.Sprint(n))
	}
	for n := range 80 {
		add(strings.Repeat(" ", n+1))
		add("\n" + strings.Repeat(" ", n))
	}
	const marks = `"{}[]:,.;()'/\-_=+*&%$#@!?<>|~^` + "`"
	for range 9000 {
		text := strings.Repeat(" ", rng.IntN(5)/4)
		for range 1 + rng.IntN(4) {
			text += string(marks[min(rng.IntN(len(marks)), rng.IntN(len(marks)))])
		}
		add(text + strings.Repeat("\n", rng.IntN(4)/3))
	}
	syllables := strings.Fields("a be con de er fi ga hi in ju ka lo me na o pre qui re st tion un ver wi ex ly ing ment able ed ness or al ic ous ity an is at")
	for len(list) < glmTokens*3/4 {
		word := ""
		for range 1 + rng.IntN(4) {
			word += syllables[rng.IntN(len(syllables))]
		}
		switch rng.IntN(6) {
		case 0:
			word = strings.ToUpper(word[:1]) + word[1:]
		case 1:
			word = string(marks[rng.IntN(len(marks))]) + word
		}
		if rng.IntN(2) == 0 {
			word = " " + word
		}
		add(word)
	}
	for len(list) < glmTokens-1 {
		first := []rune{0x4e00, 0x410, 0x3040, 0xac00, 0x600}[rng.IntN(5)]
		text := ""
		for range 1 + rng.IntN(4) {
			text += string(first + rune(rng.IntN(60)+rng.IntN(3000)*rng.IntN(2)*rng.IntN(2)))
		}
		add(text)
	}
	return grammar.NewVocabulary(glmTokens, func(id int32) grammar.Token {
		if int(id) == len(list) {
			return grammar.Token{End: true}
		}
		return grammar.Token{Bytes: []byte(list[id])}
	}), ids
}

// tokens cuts a text into the longest tokens.
func tokens(ids map[string]int32, text string) (list []int32) {
	for len(text) > 0 {
		n := min(len(text), 40)
		for ; n > 1; n-- {
			if _, ok := ids[text[:n]]; ok {
				break
			}
		}
		list = append(list, ids[text[:n]])
		text = text[n:]
	}
	return list
}

const benchSchema = `{"type": "object", "properties": {
	"title": {"type": "string"}, "year": {"type": "integer", "minimum": 1900, "maximum": 2100}, "kind": {"enum": ["invention", "reconstruction", "variable", "concentration"]},
	"authors": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "email": {"type": "string", "format": "email"}, "active": {"type": "boolean"}}, "required": ["name", "active"], "additionalProperties": false}},
	"summary": {"type": "string"}, "code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"}, "score": {"type": "number"}, "short": {"type": "string", "maxLength": 200},
	"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["title", "year", "kind", "authors", "summary", "code", "score", "next"], "additionalProperties": false}`

// benchText is a text of the schema, long enough to be an answer.
func benchText(depth int) string {
	next := "null"
	if depth > 0 {
		next = benchText(depth - 1)
	}
	return `{"title": "Predeveringation of the \"conmentable\" lotion, part 2", "year": 1984, "kind": "reconstruction", "authors": [{"name": "Ana Verlo", "email": "ana.verlo@example.com", "active": true}, {"name": "Ju Kaness", "active": false}],
  "summary": "A restable conment of pre and ver, in which aliction is reable.\nIt has no un, but many ly; see also: {wing}, [exing], and \"ga\". Inverousness is atable, and the rest of this text is here to be long.",
  "code": "ABC-1234", "score": -12.375e-2, "short": "lostanity with at most two hundred characters, and no more", "next": ` + next + `}`
}

// BenchmarkMasks is the mean time for a mask and its token, over answers of a few hundred
// tokens. The first answer of a schema (-new) begins with a grammar that is compiled anew,
// the first answer of a program (-cold) with a new vocabulary, too.
func BenchmarkMasks(b *testing.B) {
	v, ids := largeVocabulary()
	object := schema.Object()
	own, err := schema.Compile(b.Context(), []byte(benchSchema), schema.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		g    *grammar.Grammar
	}{{"json", object}, {"schema", own}} {
		text := tokens(ids, benchText(2))
		for _, kind := range []string{"-cold", "-new", ""} {
			b.Run(c.name+kind, func(b *testing.B) {
				compiled, err := grammar.Compile(b.Context(), c.g, v)
				if err != nil {
					b.Fatal(err)
				}
				var times []time.Duration
				for b.Loop() {
					if kind == "-cold" {
						b.StopTimer()
						v, _ = largeVocabulary()
						b.StartTimer()
					}
					if kind != "" {
						if compiled, err = grammar.Compile(b.Context(), c.g, v); err != nil {
							b.Fatal(err)
						}
					}
					m := compiled.NewMatcher()
					for _, id := range text {
						start := time.Now()
						mask, err := m.Mask()
						if err != nil || !grammar.Allows(mask, id) {
							b.Fatalf("token %d is not allowed: %v", id, err)
						}
						if err := m.Accept(id); err != nil {
							b.Fatal(err)
						}
						times = append(times, time.Since(start))
					}
				}
				if n := compiled.Shallows(); n > 0 {
					b.Errorf("%d masks were not finished", n)
				}
				slices.Sort(times)
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(len(times)), "us/token")
				b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "us/p99")
				b.ReportMetric(float64(times[len(times)-1].Microseconds()), "us/max")
				b.ReportMetric(float64(len(text)), "tokens")
			})
		}
	}
}
