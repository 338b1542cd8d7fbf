// Package grammar computes which tokens may come next if a text has to follow a context-free grammar.
//
//	GBNF, JSON Schema ─ Grammar ─ Compile(vocabulary) ─ Compiled ─ NewMatcher ─ Mask, Accept
//
// A Grammar is rules over bytes. Every rule becomes a deterministic automaton whose edges are bytes and calls
// of rules. A position in a text is a node: a set of states, each with the node that continues after the end
// of its rule. Equal nodes are shared, so the ways to parse a text share their common parts. What was
// computed for a node, its successor by a byte or its allowed tokens, is computed once.
//
// # Masks
//
// For most tokens, a state's own rule decides whether they may follow, independent of the caller of the rule.
// One walk through the trie of the vocabulary finds these tokens, and the result is cached. Only tokens that
// continue after the rule's end, such as a quote with a comma after it, are checked for every caller. (The
// idea of context-independent tokens is XGrammar's, Dong et al. 2024.)
//
// # Control tokens
//
// In the trie, a control token is the byte 0xFF followed by its name. No character contains that byte, so
// only Marker matches it. Tokens that end a text are allowed exactly where the grammar may end.
//
// # Limits
//
// Rules, states, nodes and the work for a mask are limited, and left recursion is refused, so a grammar from
// a stranger takes bounded time and memory.
package grammar
