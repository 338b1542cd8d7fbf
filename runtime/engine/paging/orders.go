package paging

import "slices"

// Orders is what the device has to do before it runs the next rows, and after all
// orders that were returned before (see the package comment).
type Orders struct {
	// Copies are made in every layer.
	Copies []Copy
	// Pages are the sequence's table entries First, First+1, … None if empty. The
	// caller may keep them. Entries after the sequence's Table are never read.
	First int
	Pages []uint32
}

// Copy copies the first Rows rows of page From to page To.
type Copy struct {
	From, To uint32
	Rows     int // 1 … plan.PageRows-1
}

// entries are orders to write the table's entries first … end-1.
func entries(table []uint32, first, end int) Orders {
	if first >= end {
		return Orders{}
	}
	return Orders{First: first, Pages: slices.Clone(table[first:end])}
}
