package main

import (
	"fmt"
	"strconv"
	"strings"
)

// thinking is what is asked of the thoughts of models that have them.
type thinking struct {
	on     *bool // asked of the chat template; nil: as it has it
	show   *bool // nil: where the answer goes to a terminal
	budget int   // tokens that thoughts may take; negative: any number
}

// thinkUsage says what parseThinking reads.
const thinkUsage = "on, off, show, hide or a number of tokens, or several of them with commas between"

// parseThinking reads -think and /think, on top of what was asked for before.
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

// String is what is asked for, as parseThinking reads it.
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

// limited is a sampler that ends thoughts when their budget is used up. A device cannot
// stand in for it, as it does not know what is a thought.
type limited struct {
	sampler interface {
		Next(logits []float32) int32
		Accept(token int32)
	}
	over   func() bool // thoughts have used up their budget
	unsaid []int32     // tokens that end thoughts and are still to come
}

// Next implements engine.Sampler. It asks the sampler always, so that random numbers do not
// depend on the budget.
func (l *limited) Next(logits []float32) int32 {
	id := l.sampler.Next(logits)
	if len(l.unsaid) > 0 && l.over() {
		id, l.unsaid = l.unsaid[0], l.unsaid[1:]
	}
	return id
}

// Accept implements engine.Sampler.
func (l *limited) Accept(token int32) { l.sampler.Accept(token) }
