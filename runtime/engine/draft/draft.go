// Package draft guesses how a text goes on, so that several tokens can be run in one batch:
// whoever picks the tokens keeps the guesses that are what it picks.
package draft

import "slices"

// Ngram guesses that a text goes on as it did where its last few tokens stood before
// (prompt lookup decoding, https://github.com/apoorvumang/prompt-lookup-decoding). Texts
// that quote, edit or repeat are guessed well, others hardly ever.
type Ngram struct {
	// Longest and Shortest are how many of the last tokens have to be the same; the
	// longest match counts, and of these the last one.
	Longest, Shortest int
}

// Default is what has been found useful: shorter matches are mostly chance.
var Default = Ngram{Longest: 4, Shortest: 2}

// Propose returns n tokens that may follow the text, none if nothing in it looks like its end.
// Where the text ends after fewer, it goes round: what repeats every few tokens goes on so.
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

// Textual says that a proposal depends on nothing but the text (engine.Textual).
func (Ngram) Textual() {}

// last is where the last length tokens of text stood before, for the last time; -1: nowhere.
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
