package paging

import (
	"errors"
	"fmt"

	"mla/runtime/plan"
)

// ErrClosed is returned by a sequence that has been closed.
var ErrClosed = errors.New("the sequence is closed")

// OutOfPages says that too few pages are free or cached. Nothing has changed. The call succeeds once other
// sequences are closed or truncated.
type OutOfPages struct {
	Needed    int // pages that the call needs
	Available int // pages that are free or cached
	Total     int // pages of the pool
}

func (e *OutOfPages) Error() string {
	return fmt.Sprintf("out of pages: %d more needed, %d of %d available (a page holds %d tokens)",
		e.Needed, e.Available, e.Total, plan.PageRows)
}
