// Package paging decides which sequence owns which page of the latent cache. It does not touch a device: the
// work for the device is returned as Orders.
//
// The cache of every layer is divided into pages of plan.PageRows rows. Page p is rows p·PageRows …
// p·PageRows+PageRows-1 of every layer. Each sequence has a block table, whose entry k is the page with its
// rows from k·PageRows on. A row depends on its token and on all tokens before it, so sequences that begin
// with the same tokens can share pages.
//
// # Holders of a page
//
// A Pool has a fixed number of pages. Sequences hold pages, and so does the pool's radix tree over token ids,
// with one node per full page. A page is free (it has no holder), cached (only the tree holds it) or in use
// (a sequence holds it). A page is written only while one sequence is its only holder.
//
// Full pages are shared in place. As soon as a sequence has filled a page, the page belongs to the tree, and
// sequences with the same tokens use it from then on. If the tree already has a page of the same tokens, the
// sequence uses that page and frees its own. So sequences that ran the same prompt in parallel end with one
// copy. Rows of the same tokens count as equal, whichever width has computed them. A partly filled page is
// shared until a holder wants to write to it. Then Reserve gives the writer a new page, and an order to copy
// the valid rows. That happens after Truncate and Fork.
//
// # Scopes
//
// Each sequence has a scope, and each scope has a tree of its own: sequences find only pages of their own
// scope. The number of tokens that were found tells a client what others have asked, so scopes separate
// clients that must not know about each other. Eviction is common to all scopes.
//
// If no page is free, the least recently used cached page is evicted, leaves first. A sequence that holds a
// node holds all of the node's ancestors, so an ancestor was never used before its descendants: therefore a
// list in the order of last use is enough. There is no clock: the same calls give the same pages.
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
// Truncate, Fork and Reuse release reserved capacity: reserve again before the next rows are run. Rows in
// flight must be appended before these calls.
//
// # The order of device work
//
// One rule makes every reuse of a page safe: the device executes the orders in the order in which they were
// returned, over all sequences of a pool, after rows that were run before and before rows that are run later.
// A queue that works in order, such as a stream, is enough; nobody has to wait. The source page of a copy may
// be evicted and reused before the copy has been made. This is safe, as whatever writes to the page then was
// ordered after the copy. Copies of different calls must not run in parallel: the second may write a page
// that the first still has to read.
//
// If the device fails, the contents of the pages are unknown: make a new Pool.
package paging
