// Package draft drafts the next tokens of a text from the text itself, so that several tokens can run in one
// batch. The sampler accepts the drafts that are equal to its own picks.
package draft

import "slices"

// Ngram drafts that a text continues as it did after the previous occurrence of its last few tokens (prompt
// lookup decoding, https://github.com/apoorvumang/prompt-lookup-decoding). That works for texts that quote,
// edit or repeat, and hardly ever for others.
type Ngram struct {
	// Longest and Shortest bound how many of the last tokens have to match. The longest match counts; of
	// equally long ones, the latest.
	Longest, Shortest int
}

// Default has proved useful; shorter matches are mostly coincidence.
var Default = Ngram{Longest: 4, Shortest: 2}

// Propose returns n tokens that may follow the text; none if its end does not occur earlier. If the match is
// less than n tokens before the end of the text, the tokens after it are repeated, as in a text that repeats
// itself.
func (g Ngram) Propose(text []int32, n int) []int32 {
	for length := g.Longest; length >= max(g.Shortest, 1) && n > 0; length-- {
		if at := last(text, length); at >= 0 {
			follow := slices.Clone(text[at+length : min(at+length+n, len(text))])
			for period := len(follow); len(follow) < n; {
				follow = append(follow, follow[len(follow)-period])
			}
			return follow
		}
	}
	return nil
}

// Textual says that a proposal depends only on the text (engine.Textual).
func (Ngram) Textual() {}

// last is the position of the latest earlier occurrence of the text's last length tokens; -1: there is none.
func last(text []int32, length int) int {
	end := len(text) - length
	for at := end - 1; at >= 0; at-- {
		if same(text[at:at+length], text[end:]) {
			return at
		}
	}
	return -1
}

func same(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
