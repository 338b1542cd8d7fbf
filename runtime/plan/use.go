package plan

// Role is what a slot holds for a part that uses it.
type Role uint8

// The roles.
const (
	RoleWeight     Role = iota // a typed matrix
	RoleNormWeight             // float32
	RoleBias                   // float32, added to scores for the selection of experts
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
	RoleGathered               // activations of wanted rows, which are moved to the front
	RoleCounters               // counters of persistent threadgroups
	RoleFloats                 // float32 of the sampler
	RoleIntegers               // uint32 of the sampler
	RolePicks                  // Pick
	RoleAdjusts                // Adjust
	RoleRow                    // Row
	RoleState                  // the states of linear attention
	RoleTable                  // float32 parameters of linear attention
	RoleGates                  // float32, a number for each head
	RoleUnit                   // float32, vectors of length 1
	RoleShare                  // float32 from 0 to 1
	Roles                      // the number of roles
)

// Values of Use.Entries and Use.Rows that depend on the model.
const (
	EachExpert = -1 - iota // an entry for each routed expert
	EachToken              // a row for each token of the vocabulary; one of them is looked up
)

// Use is what a part does with one slot.
type Use struct {
	Slot  int
	As    Role
	Write bool
	// Offset, Stride, Entries and Len place numbers in the slot: entry e is Len elements from element Offset
	// + e*Stride on.
	Offset, Stride, Entries, Len int
	// Rows and Cols are the shape of each of the Entries of a weight. Needed is how many weight rows one row
	// of the kernel needs in all; of routed experts, those of the selected ones.
	Rows, Cols, Needed int
	// Terms is how many terms each written number is the sum of. It bounds rounding errors.
	Terms int
	// Splits is the layout of RoleSplitOut and RoleSplitML.
	Splits *Splits
	// Latent and Rotated are the columns of a cache row, in this order.
	Latent, Rotated int
	// Select and Of, for RoleRouting, RoleStarts and RoleMembers: each row selects Select of Of experts. Of
	// is 0 if the part only reads a routing.
	Select, Of int
}

// Reach is how many elements of the slot, from its start on, the use needs for one row.
func (u *Use) Reach() int64 {
	return int64(u.Offset) + int64(u.Entries-1)*int64(u.Stride) + int64(u.Len)
}

// LooksUp says that a row of the weight is copied, and nothing is multiplied.
func (u *Use) LooksUp() bool { return u.As == RoleWeight && u.Rows == EachToken }

// Selected is the number of experts whose matrices one row needs; 0: the weight belongs to no expert.
func (u *Use) Selected() int {
	if u.Entries != EachExpert {
		return 0
	}
	return u.Needed / max(u.Rows, 1)
}

// WeightsOf lists the uses of weight matrices of a part.
func WeightsOf(p Part) (list []Use) {
	for _, u := range p.Uses() {
		if u.As == RoleWeight {
			list = append(list, u)
		}
	}
	return list
}

// SplitsAt is the layout of the attention splits that a slot of the kernel holds; nil: it holds none.
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

// PairFlops is how many floating-point operations attention spends on a pair of a query row and a cache row,
// over all heads: two for each column of a key and of a value. 0: the part is not attention.
func PairFlops(p Part) int {
	switch p := p.(type) {
	case *Attend:
		return 2 * p.Heads * (2*p.LatDim + p.PeDim)
	case *AttendHeads:
		return 2 * p.Heads * (p.NopeDim + p.PeDim + p.VDim)
	}
	return 0
}

// uses collects the uses of a part. Each method adds one piece's slots.
type uses []Use

func (l *uses) add(u Use) { *l = append(*l, u) }

// read adds a vector of n elements for each entry.
func (l *uses) read(v Vec, entries, n int) { l.add(vectorUse(v, entries, n)) }

// addend adds a vector that is read and laid out like the result, if slot is not negative.
func (l *uses) addend(slot int, out Vec, entries, n int) {
	if out.Slot = slot; slot >= 0 {
		l.read(out, entries, n)
	}
}

func vectorUse(v Vec, entries, n int) Use {
	return Use{Slot: v.Slot, As: RoleVector, Offset: v.Offset, Stride: v.Stride, Entries: entries, Len: n}
}

// write adds a result of n elements for each entry, each the sum of a number of terms.
func (l *uses) write(v Vec, entries, n, terms int) {
	u := vectorUse(v, entries, n)
	u.Write, u.Terms = true, terms
	l.add(u)
}

// output adds a result, and the first half of the next norm. With the latter, the plain result may be absent.
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

// weight adds a matrix for each entry.
func (l *uses) weight(slot, entries, rows, cols, needed int) {
	l.add(Use{Slot: slot, As: RoleWeight, Entries: entries, Rows: rows, Cols: cols, Needed: needed})
}

// upWeight adds the second matrix of a product, if slot is not negative.
func (l *uses) upWeight(slot, entries, rows, cols, needed int) {
	if slot >= 0 {
		l.weight(slot, entries, rows, cols, needed)
	}
}

// input adds the vector that weights are multiplied by, with its prologue.
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

// splits adds the results of attention splits, with dim columns that are each the sum of terms.
func (l *uses) splits(c *Combine, dim, terms int, write bool) {
	entries := c.Splits.Count * c.Heads
	l.add(Use{Slot: c.Out, As: RoleSplitOut, Write: write, Entries: 1, Len: entries * dim, Terms: terms, Splits: &c.Splits})
	l.add(Use{Slot: c.ML, As: RoleSplitML, Write: write, Entries: 1, Len: 2 * entries, Terms: terms, Splits: &c.Splits})
}

// pages adds a cache and its block tables, with the numbers of latent and rotated columns; each written
// column is the sum of terms.
func (l *uses) pages(as Role, p Paged, lat, rotated, terms int, write bool) {
	l.add(Use{Slot: p.Slot, As: as, Write: write, Entries: 1, Terms: terms, Latent: lat, Rotated: rotated})
	l.add(Use{Slot: p.Tables, As: RoleTables, Entries: 1, Len: p.MaxPages})
}

// latent adds the queries of latent attention and the cache that they attend to.
func (l *uses) latent(qAbs, qPe Vec, heads, lat, pe int, cache Paged) {
	l.read(qAbs, heads, lat)
	l.read(qPe, heads, pe)
	l.pages(RoleCache, cache, lat, pe, 0, false)
}

// routing adds a selection of k experts that is read.
func (l *uses) routing(slot, k int) {
	l.add(Use{Slot: slot, As: RoleRouting, Entries: 1, Len: k, Select: k})
}

// gating adds the inputs of a gating and the routing that it writes.
func (l *uses) gating(g *Gating, routing int) {
	l.each(RoleScores, false, g.Experts, g.Logits)
	if g.Bias >= 0 {
		l.each(RoleBias, false, g.Experts, g.Bias)
	}
	l.add(Use{Slot: routing, As: RoleRouting, Write: true, Entries: 1, Len: g.K, Select: g.K, Of: g.Experts, Terms: g.Experts})
}

// grouping adds the selections of all rows; Len of its members is the number of one row.
func (l *uses) grouping(g *Grouping, write bool) {
	l.add(Use{Slot: g.Starts, As: RoleStarts, Write: write, Entries: 1, Len: g.Experts + 1, Terms: 1, Select: g.K, Of: g.Experts})
	l.add(Use{Slot: g.Members, As: RoleMembers, Write: write, Entries: 1, Len: g.K, Terms: 1, Select: g.K, Of: g.Experts})
}

// each adds slots of one role, of which the first n elements are used.
func (l *uses) each(as Role, write bool, n int, slots ...int) {
	for _, slot := range slots {
		l.add(Use{Slot: slot, As: as, Write: write, Entries: 1, Len: n})
	}
}
