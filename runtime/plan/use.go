package plan

// Role is what a slot holds for a part that uses it.
type Role uint8

// The roles.
const (
	RoleWeight     Role = iota // a typed matrix
	RoleNormWeight             // float32
	RoleBias                   // float32 that shift the selection of experts
	RoleScores                 // float32, the router's logits
	RoleSquares                // float32, the partial sums of NormPartial
	RoleAngles                 // the rotary table
	RoleVector                 // activations
	RoleSplitOut               // activations, Combine.Out
	RoleSplitML                // float32, Combine.ML
	RoleCache                  // the latent cache
	RoleHeads                  // expanded heads
	RoleTables                 // block tables
	RoleRouting                // selected experts and their weights
	RoleStarts                 // Grouping.Starts
	RoleMembers                // Grouping.Members
	RoleGathered               // activations of wanted rows, which are moved
	RoleCounters               // of persistent threadgroups
	RoleFloats                 // float32 of the sampler
	RoleIntegers               // uint32 of the sampler
	RolePicks                  // Pick
	RoleAdjusts                // Adjust
	RoleRow                    // the row
	RoleState                  // the states of linear attention
	RoleTable                  // float32 parameters of linear attention
	RoleGates                  // float32, a number for each head
	RoleUnit                   // float32, vectors of length 1
	RoleShare                  // float32 from 0 to 1
	Roles                      // how many roles there are
)

// The number of a weight's entries or rows where the model says it.
const (
	EachExpert = -1 - iota // an entry for each routed expert
	EachToken              // a row for each token of the vocabulary, of which one is looked up
)

// Use is what a part does with one slot.
type Use struct {
	Slot  int
	As    Role
	Write bool
	// Of numbers: the first entry begins at element Offset, the next Stride elements on, and each has
	// Len elements.
	Offset, Stride, Entries, Len int
	// Rows and Cols are of each of the Entries of a weight. A row of the kernel needs Needed rows in all:
	// of experts those that it selects.
	Rows, Cols, Needed int
	// Terms is how many numbers each number sums up: of a result, or of sums of squares.
	Terms int
	// Splits is how RoleSplitOut and RoleSplitML are cut.
	Splits *Splits
	// Latent columns of a cache row come before the rotated ones.
	Latent, Rotated int
	// Select and Of say that each row selects Select of Of experts: of RoleRouting, RoleStarts
	// and RoleMembers. Of is 0 of a routing that is only read.
	Select, Of int
}

// Reach is how many elements the use needs from the start of the slot on, for one row.
func (u *Use) Reach() int64 {
	return int64(u.Offset) + int64(u.Entries-1)*int64(u.Stride) + int64(u.Len)
}

// LooksUp says that a weight is not multiplied: a row of it is copied.
func (u *Use) LooksUp() bool { return u.As == RoleWeight && u.Rows == EachToken }

// Selected is how many experts' matrices Needed rows are of; 0: the weight is of no experts.
func (u *Use) Selected() int {
	if u.Entries != EachExpert {
		return 0
	}
	return u.Needed / max(u.Rows, 1)
}

// WeightsOf lists the matrices of a part.
func WeightsOf(p Part) (list []Use) {
	for _, u := range p.Uses() {
		if u.As == RoleWeight {
			list = append(list, u)
		}
	}
	return list
}

// SplitsAt is how attention is cut whose results a slot of the kernel holds; nil: it holds none.
func (k *Kernel) SplitsAt(slot int) *Splits {
	for _, p := range k.Parts {
		for _, u := range p.Uses() {
			if u.Slot == slot && u.Splits != nil {
				return u.Splits
			}
		}
	}
	return nil
}

// PairFlops is how many operations attention makes for each query's row and each cache row: two for each
// column of a key and of a value of all heads. 0: the part is no attention.
func PairFlops(p Part) int {
	switch p := p.(type) {
	case *Attend:
		return 2 * p.Heads * (2*p.LatDim + p.PeDim)
	case *AttendHeads:
		return 2 * p.Heads * (p.NopeDim + p.PeDim + p.VDim)
	}
	return 0
}

// uses collects the uses of a part.
type uses []Use

func (l *uses) add(u Use) { *l = append(*l, u) }

// read is a vector of n elements for each entry.
func (l *uses) read(v Vec, entries, n int) { l.add(vectorUse(v, entries, n)) }

// addend is read where slot is not negative. It lies as the result does.
func (l *uses) addend(slot int, out Vec, entries, n int) {
	if out.Slot = slot; slot >= 0 {
		l.read(out, entries, n)
	}
}

func vectorUse(v Vec, entries, n int) Use {
	return Use{Slot: v.Slot, As: RoleVector, Offset: v.Offset, Stride: v.Stride, Entries: entries, Len: n}
}

// write is a result of n elements for each entry, each of which sums up a number of terms.
func (l *uses) write(v Vec, entries, n, terms int) {
	u := vectorUse(v, entries, n)
	u.Write, u.Terms = true, terms
	l.add(u)
}

// output is write, and what prepares the next norm; then there need be no slot for the result itself.
func (l *uses) output(v Vec, entries, n, terms int, h *NormPartial) {
	if h == nil || v.Slot >= 0 {
		l.write(v, entries, n, terms)
	}
	if h == nil {
		return
	}
	l.each(RoleNormWeight, false, n, h.Weight)
	l.write(Vec{Slot: h.Ready}, 1, n, terms)
	l.add(Use{Slot: h.Squares, As: RoleSquares, Write: true, Entries: 1, Len: n / max(h.Group, 1), Terms: terms + h.Group})
}

// weight is a matrix for each entry.
func (l *uses) weight(slot, entries, rows, cols, needed int) {
	l.add(Use{Slot: slot, As: RoleWeight, Entries: entries, Rows: rows, Cols: cols, Needed: needed})
}

// upWeight is the second matrix of a product, where slot is not negative.
func (l *uses) upWeight(slot, entries, rows, cols, needed int) {
	if slot >= 0 {
		l.weight(slot, entries, rows, cols, needed)
	}
}

// input is what weights are multiplied by, with its prologue.
func (l *uses) input(v Vec, entries, cols int, n *Norm, a *NormApply) {
	l.read(v, entries, cols)
	l.norm(n, cols)
	if a != nil {
		l.add(Use{Slot: a.Squares, As: RoleSquares, Entries: 1, Len: a.Count, Terms: cols / max(a.Count, 1)})
	}
}

func (l *uses) norm(n *Norm, cols int) {
	if n != nil {
		l.each(RoleNormWeight, false, cols, n.Weight)
	}
}

func (l *uses) rope(r *RopeAt) {
	if r != nil {
		l.add(Use{Slot: r.Table, As: RoleAngles, Entries: 1})
	}
}

// splits are the results of attention splits of dim columns, which sum up terms.
func (l *uses) splits(c *Combine, dim, terms int, write bool) {
	entries := c.Splits.Count * c.Heads
	l.add(Use{Slot: c.Out, As: RoleSplitOut, Write: write, Entries: 1, Len: entries * dim, Terms: terms, Splits: &c.Splits})
	l.add(Use{Slot: c.ML, As: RoleSplitML, Write: write, Entries: 1, Len: 2 * entries, Terms: terms, Splits: &c.Splits})
}

// pages are a cache of rows with their numbers of latent and rotated columns; of a written row each column sums up terms.
func (l *uses) pages(as Role, p Paged, lat, rotated, terms int, write bool) {
	l.add(Use{Slot: p.Slot, As: as, Write: write, Entries: 1, Terms: terms, Latent: lat, Rotated: rotated})
	l.add(Use{Slot: p.Tables, As: RoleTables, Entries: 1, Len: p.MaxPages})
}

// latent are what latent attention asks with, and the cache that it reads.
func (l *uses) latent(qAbs, qPe Vec, heads, lat, pe int, cache Paged) {
	l.read(qAbs, heads, lat)
	l.read(qPe, heads, pe)
	l.pages(RoleCache, cache, lat, pe, 0, false)
}

// routing is a selection of k experts that is read.
func (l *uses) routing(slot, k int) {
	l.add(Use{Slot: slot, As: RoleRouting, Entries: 1, Len: k, Select: k})
}

// gating makes one.
func (l *uses) gating(g *Gating, routing int) {
	l.each(RoleScores, false, g.Experts, g.Logits)
	if g.Bias >= 0 {
		l.each(RoleBias, false, g.Experts, g.Bias)
	}
	l.add(Use{Slot: routing, As: RoleRouting, Write: true, Entries: 1, Len: g.K, Select: g.K, Of: g.Experts, Terms: g.Experts})
}

// grouping is what all rows have selected: Len of its members is that of one row.
func (l *uses) grouping(g *Grouping, write bool) {
	l.add(Use{Slot: g.Starts, As: RoleStarts, Write: write, Entries: 1, Len: g.Experts + 1, Terms: 1, Select: g.K, Of: g.Experts})
	l.add(Use{Slot: g.Members, As: RoleMembers, Write: write, Entries: 1, Len: g.K, Terms: 1, Select: g.K, Of: g.Experts})
}

// each are slots of one kind, of which the first n elements are used.
func (l *uses) each(as Role, write bool, n int, slots ...int) {
	for _, slot := range slots {
		l.add(Use{Slot: slot, As: as, Write: write, Entries: 1, Len: n})
	}
}
