// Package pattern makes automata of regular expressions, and of what several of them have
// in common or leave out.
//
//	Parse ─ Language ─ And, Or, Not ─ Automaton
//
// A Language is the texts from a place to their end. A regular expression becomes nodes
// that each say what has to follow, so that a lookahead is an intersection with what comes
// after it. The automaton's states are formulas over these nodes (those of an alternating
// automaton, Chandra, Kozen and Stockmeyer 1981): they are made as they are reached, up to
// a limit.
//
// The notation is that of ECMA-262 with the flag u. \s matches blanks of ASCII only, and \S
// none of Unicode, so that readers of either kind agree. Lookbehinds and references to
// groups are refused.
package pattern
