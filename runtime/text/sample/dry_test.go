package sample

import (
	"math"
	"testing"
	"time"

	"mla/tools/tests/processor"
)

// TestDRY: known penalties, by llama.cpp's own examples of its test and by hand. Tokens are letters.
func TestDRY(t *testing.T) {
	for _, c := range []struct {
		name, text string
		breakers   []string
		allowed    int
		want       map[byte]float32
	}{
		{"nothing is repeated", "abcd", nil, 2, nil},
		{"one token is allowed", "abxa", nil, 2, nil},
		{"two tokens are continued", "abcxab", nil, 2, map[byte]float32{'c': 1}},
		{"three", "abcdxabc", nil, 2, map[byte]float32{'d': 1.5}},
		{"the longest counts", "abcdxbcdyabc", nil, 2, map[byte]float32{'d': 1.5}},
		{"several ways to go on", "abcxabdyab", nil, 2, map[byte]float32{'c': 1, 'd': 1}},
		{"less is allowed", "abxa", nil, 1, map[byte]float32{'b': 1}},
		{"a breaker ends it", "abcdxa:cabc", []string{"c"}, 2, nil},
		{"after a breaker", "zabcxzab", []string{"z"}, 2, map[byte]float32{'c': 1}},
		{"a breaker is not penalised", "abzxab", []string{"z"}, 2, nil},
		{"a breaker of two tokens", "yzabcxyzab", []string{"yz"}, 2, map[byte]float32{'c': 1}},
		{"that is not there", "yabcxyab", []string{"yz"}, 2, map[byte]float32{'c': 1.5}},
	} {
		p := with(func(p *Params) {
			p.DRYMultiplier, p.DRYBase, p.DRYAllowedLength, p.DRYBreakers, p.Vocabulary = 1, 1.5, c.allowed, c.breakers, letters(0)
		})
		s := mustNew(t, p)
		for i := range c.text {
			s.Accept(int32(c.text[i]) - 'a')
		}
		logits := make([]float32, 26)
		s.dry.penalise(logits)
		for i, x := range logits {
			if want := -c.want['a'+byte(i)]; math.Abs(float64(x-want)) > 1e-6 { // a power in float64, as float32
				t.Errorf("%s: token %c has %v; expected %v", c.name, 'a'+i, x, want)
			}
		}
	}
}

// TestDRYLookBack: text before the last n tokens, and before Reset, has no effect, however long it is.
func TestDRYLookBack(t *testing.T) {
	p := with(func(p *Params) {
		p.DRYMultiplier, p.DRYLastN, p.DRYBreakers = 1, 6, nil
	})
	s := mustNew(t, p)
	for i := range 1000 {
		s.Accept(int32(i % 7)) // a period that 6 tokens do not show
		if len(s.dry.text) > 12 {
			t.Fatalf("%d tokens are kept", len(s.dry.text))
		}
	}
	logits := make([]float32, 7)
	if s.dry.penalise(logits); logits[999%7+1] != 0 {
		t.Errorf("%v", logits)
	}
	p.DRYLastN = -1
	s = mustNew(t, p)
	for i := range 21 {
		s.Accept(int32(i % 7))
	}
	if s.dry.penalise(logits); logits[0] == 0 || logits[1] != 0 {
		t.Errorf("all tokens: %v", logits)
	}
	s.Reset()
	clear(logits)
	if s.dry.penalise(logits); logits[0] != 0 {
		t.Errorf("after Reset: %v", logits)
	}
	if _, err := New(with(func(p *Params) { p.DRYMultiplier = 1 })); err == nil {
		t.Error("breakers without a vocabulary")
	}
}

// TestDRYWork: the worst of texts, one token repeated, is looked at in linear time.
func TestDRYWork(t *testing.T) {
	s := mustNew(t, with(func(p *Params) { p.DRYMultiplier, p.DRYBreakers, p.Vocabulary = 1, []string{"zzzz"}, letters(0) }))
	for range 1 << 17 {
		s.Accept(25)
	}
	logits := make([]float32, 30)
	start := processor.Time(t)
	s.dry.penalise(logits)
	if took := processor.Time(t) - start; took > 5*time.Second { // quadratic time would be minutes
		t.Errorf("%v", took)
	}
}
