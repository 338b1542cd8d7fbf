// Package paging says who owns which page of the latent cache. It does not touch a
// device: what a device has to do is returned as Orders.
//
// The cache of every layer is cut into pages of plan.PageRows rows. Page p is rows
// p·PageRows … p·PageRows+PageRows-1 of every layer, and a block table per sequence
// says which page holds its rows k·PageRows and on. A row depends on its token and
// on all tokens before it, so sequences that begin with the same tokens can use the
// same pages.
//
// # Who holds a page
//
// A Pool has a fixed number of pages. Sequences hold pages, and so does the pool's
// radix tree over token ids, one node per full page. A page is free (no holder),
// cached (only the tree holds it) or in use (a sequence holds it). A page is written
// only while one sequence holds it and nothing else does.
//
// Full pages are shared in place: as soon as a sequence has filled one, it belongs
// to the tree, and sequences with the same tokens use it from then on. If the tree
// already has a page of the same tokens, the sequence takes that one and gives its
// own back; so sequences that ran the same prompt side by side end with one copy.
// Rows of the same tokens count as the same, whichever width has computed them.
// A page that is filled in part is shared until a holder wants to write to it: then
// Reserve gives the writer a fresh page and an order to copy the rows that count.
// That happens after Truncate and Fork.
//
// # Who finds a page
//
// Each sequence has a scope, and each scope has a tree of its own: sequences of one scope
// find the pages of others of that scope, and no pages besides. How much of a prompt was
// found shows what others have asked, so scopes keep those apart who must not know.
// Eviction is common to all scopes.
//
// When no page is free, the cached page that was used longest ago is evicted, leaves
// first. A sequence that holds a node holds all nodes above it, so a node's last use
// is never before that of a node below: a list in the order of last use is enough.
// There is no clock: equal calls give equal pages.
//
// # The life of a sequence
//
//	s, orders := pool.Open("", prompt)    // s.Len() leading tokens are there already
//	orders, err := s.Reserve(n)           // capacity for n more, or *OutOfPages
//	…                                     // the device runs n tokens after s.Len()
//	orders, err = s.Append(tokens)        // those that count; drafts may be left out
//	err = s.Truncate(n)                   // rewind
//	t, orders, err := s.Fork()            // two continuations of the same tokens
//	s.Close()                             // full pages stay cached
//
// Truncate, Fork and Reuse give up capacity that was reserved: reserve again before the
// next rows are run. Rows in flight that are to be appended come before those calls.
//
// # The order of device work
//
// One rule makes every reuse of a page safe: the device does the orders in the order
// in which they were returned, over all sequences of a pool, after rows that were
// run before and before rows that are run later. A queue that works in order, such
// as a stream, is enough; nothing has to be waited for or confirmed. A page that was copied from may be evicted and
// handed out again before the copy has been made: whatever is written to it then,
// by a copy or by a row, was asked for later. Copies of different calls must not run
// at the same time: the second may write what the first still has to read.
//
// If the device fails, nobody knows what the pages hold: make a new Pool.
package paging
