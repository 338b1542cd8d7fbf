package paging

import "slices"

// Orders is the work for the device before it runs the next rows, and after all orders that were returned
// before (see the package comment).
type Orders struct {
	// Copies are made in every layer, in order.
	Copies []Copy
	// Pages are the new entries First, First+1, … of the sequence's table; empty: the table is unchanged. The
	// caller may keep the slice. Entries after the sequence's Table are never read.
	First int
	Pages []uint32
}

// Copy copies the first Rows rows of page From to page To.
type Copy struct {
	From, To uint32
	Rows     int // 1 … plan.PageRows-1
}

// entries returns orders to write the table's entries first … end-1.
func entries(table []uint32, first, end int) Orders {
	if first >= end {
		return Orders{}
	}
	return Orders{First: first, Pages: slices.Clone(table[first:end])}
}
