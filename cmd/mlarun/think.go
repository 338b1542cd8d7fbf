package main

import (
	"fmt"
	"strconv"
	"strings"
)

// thinking holds the requests about the thoughts of models that think.
type thinking struct {
	on     *bool // for the chat template; nil: the template's default
	show   *bool // nil: if the answer goes to a terminal
	budget int   // the most tokens of thoughts; negative: unlimited
}

// thinkUsage describes the syntax of parseThinking.
const thinkUsage = "on, off, show, hide or a number of tokens, or several of them with commas between"

// parseThinking parses -think and /think, as changes of t.
func parseThinking(text string, t thinking) (thinking, error) {
	for word := range strings.SplitSeq(text, ",") {
		yes, no := true, false
		switch word {
		case "on":
			t.on = &yes
		case "off":
			t.on = &no
		case "show":
			t.show = &yes
		case "hide":
			t.show = &no
		default:
			n, err := strconv.Atoi(word)
			if err != nil || n < 0 {
				return t, fmt.Errorf("is %q; expected %s", word, thinkUsage)
			}
			t.budget = n
		}
	}
	return t, nil
}

// String returns the requests in the syntax of parseThinking.
func (t thinking) String() string {
	var words []string
	if t.on != nil {
		words = append(words, map[bool]string{true: "on", false: "off"}[*t.on])
	}
	if t.show != nil {
		words = append(words, map[bool]string{true: "show", false: "hide"}[*t.show])
	}
	if t.budget >= 0 {
		words = append(words, strconv.Itoa(t.budget))
	}
	if words == nil {
		return "as the template has it"
	}
	return strings.Join(words, ",")
}

// limited is a sampler that ends thoughts when their budget is used up. A device cannot replace it, as it
// does not recognise thoughts.
type limited struct {
	sampler interface {
		Next(logits []float32) int32
		Accept(token int32)
	}
	over   func() bool // the thoughts have used up their budget
	unsaid []int32     // remaining tokens of the sequence that ends thoughts
}

// Next implements engine.Sampler. It always calls the sampler, so that random numbers do not depend on the
// budget.
func (l *limited) Next(logits []float32) int32 {
	id := l.sampler.Next(logits)
	if len(l.unsaid) > 0 && l.over() {
		id, l.unsaid = l.unsaid[0], l.unsaid[1:]
	}
	return id
}

// Accept implements engine.Sampler.
func (l *limited) Accept(token int32) { l.sampler.Accept(token) }
