package plan

// PageRows is how many cache rows a page holds: a multiple of every tile of attention, so no tile crosses a
// page.
const PageRows = 64

// Pages is how many pages hold a given number of cache rows.
func Pages(rows int) int { return ceil(rows, PageRows) }

// MaxPages is how many entries a block table has: enough for the longest context.
func (m *Model) MaxPages() int { return Pages(m.MaxPositionEmbeddings) }
