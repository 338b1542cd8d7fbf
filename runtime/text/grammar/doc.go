// Package grammar says which tokens may come next if a text is to follow a context-free
// grammar.
//
//	GBNF, JSON Schema ─ Grammar ─ Compile(vocabulary) ─ Compiled ─ NewMatcher ─ Mask, Accept
//
// A Grammar is rules over bytes. Every rule becomes a deterministic automaton whose edges
// are bytes and calls of rules. Where a text is in the grammar is a node: a set of states,
// each with the node that goes on when its rule has ended. Equal nodes are one node, so
// all ways to read a text share what they have in common, and what was found out about a
// node, the next one by a byte or the tokens that may follow, is found out once.
//
// # Masks
//
// Most tokens that may follow a state are decided by the state's own rule, whoever has
// called it. These are found by one walk through the trie of the vocabulary, and kept.
// Only tokens that go on after the rule's end, such as a quote with a comma after it, are
// looked at for every caller. (The idea of context-independent tokens is XGrammar's, Dong
// et al. 2024.)
//
// # Control tokens
//
// A control token is in the trie as the byte 0xFF with its name after it. No character
// has that byte, so only Marker matches it. Tokens that end a text are allowed where the
// grammar may end, and nowhere else.
//
// # Limits
//
// Rules, states, nodes and the work for a mask are limited, and left recursion is refused,
// so a grammar of a stranger takes bounded time and memory.
package grammar
