// Package pattern makes automata of regular expressions, and of their intersections, unions and complements.
//
//	Parse ─ Language ─ And, Or, Not ─ Automaton
//
// A Language is a set of texts, from a position to the end. A regular expression becomes nodes, each of which
// says what has to follow; so a lookahead is an intersection with what follows it. The states of an automaton
// are formulas over these nodes (an alternating automaton: Chandra, Kozen and Stockmeyer 1981). They are
// constructed on demand, up to a limit.
//
// The notation is that of ECMA-262 with the flag u. \s matches only ASCII white space, and \S excludes all
// Unicode white space, so that implementations of either kind agree. Lookbehinds and backreferences are
// refused.
package pattern
