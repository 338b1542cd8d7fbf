package main

import (
	"errors"
	"fmt"
	"maps"
)

// again is how long a prompt takes that nobody has asked before, and then its first token
// when it comes again with something after it, as the next turn of a chat does.
func (l *load) again() (rows []row, err error) {
	s, err := l.serve(2, l.threads, "", "-c", fmt.Sprint(l.prefix+turn*(l.rounds+1)+8))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	prompt := l.newPrompt(l.prefix)
	cold, err := s.ask(prompt, 2, nil)
	if err != nil {
		return nil, err
	}
	var warm, cached []float64
	for range l.rounds {
		prompt = append(prompt, l.newPrompt(turn)...)
		a, err := s.ask(prompt, 2, nil)
		if err != nil {
			return nil, err
		}
		warm, cached = append(warm, a.first()/1e3), append(cached, float64(a.Usage.Details.Cached))
	}
	return []row{
		newRow("prefix", fmt.Sprintf("first token of a prompt of %d", l.prefix), "s", []float64{cold.first() / 1e3}),
		newRow("prefix", fmt.Sprintf("the same with %d tokens more, again and again", turn), "s", warm).atMost(1),
		newRow("prefix", "tokens of it that were found", "", cached).atLeast(float64(l.prefix - turn)),
	}, nil
}

// turn is how many tokens the next turn of a chat has.
const turn = 64

// drafts compares a server that guesses by n-grams with one that does not, on texts that a
// model with random weights writes, too: what their tokens are is decided by how they are
// picked.
func (l *load) drafts() (rows []row, err error) {
	// Far above the least temperature at which all tokens are as likely.
	even := []string{"-c", fmt.Sprint(opening + l.tokens), "-temp", "10000", "-top-k", "0", "-top-p", "1", "-min-p", "0"}
	plain, err := l.serve(1, l.threads, "", even...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, plain.close()) }()
	guessing, err := l.serve(1, l.threads, "", append(even, "-draft", "ngram")...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, guessing.close()) }()
	for _, text := range []struct {
		name string
		how  map[string]any
		goal float64
	}{
		{"that repeats", map[string]any{"temperature": 0, "logit_bias": biases(1)}, 2},
		{"of any tokens", nil, 0.97},
		{"of 24 tokens in any order", map[string]any{"top_k": 24, "logit_bias": biases(24)}, 0.97},
	} {
		var without, with, ratio, right, guesses []float64
		for i := range l.rounds {
			prompt := l.newPrompt(opening)
			var took [2]float64
			for j, s := range []*server{plain, guessing} {
				q := map[string]any{"prompt": prompt, "max_tokens": l.tokens, "seed": i}
				maps.Copy(q, text.how)
				a, err := s.send(q, nil)
				if err != nil {
					return nil, err
				}
				took[j] = 1e3 * a.tokens[len(a.tokens)-1].Sub(a.sent).Seconds() / float64(l.tokens)
				if s == guessing {
					guesses = append(guesses, a.Timings.Guesses)
					right = append(right, a.Timings.Right)
				}
			}
			without, with, ratio = append(without, took[0]), append(with, took[1]), append(ratio, took[0]/took[1])
		}
		rows = append(rows,
			newRow("drafts", "a token of a text "+text.name, "ms", without),
			newRow("drafts", "the same with guesses", "ms", with),
			newRow("drafts", fmt.Sprintf("guesses for %d tokens", l.tokens), "", guesses),
			newRow("drafts", "of these right", "", right),
			newRow("drafts", "times as fast with guesses", "", ratio).atLeast(text.goal))
	}
	return rows, nil
}

// biases are for a number of tokens, so that nearly all others are less likely.
func biases(n int) map[string]int {
	list := map[string]int{}
	for i := range n {
		list[fmt.Sprint(100+i)] = 99
	}
	return list
}
