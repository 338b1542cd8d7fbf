package plan

import "slices"

// HeadsPage is how a page of SpaceHeads keeps the heads of its PageRows cache rows: where each
// part begins, in elements of the activations' type. Pages are those of the caches, so block
// tables lead to both; all layers share them, one after the other.
type HeadsPage struct {
	Keys     int // [heads][PageRows][QKNopeHeadDim]
	Values   int // [heads][VHeadDim][PageRows]: products with weights take a value's rows side by side
	Rotated  int // [PageRows][QKRopeHeadDim]: the part of the keys that all heads share
	Elements int // of a page
}

// HeadsPage is how pages keep the model's heads.
func (m *Model) HeadsPage() HeadsPage {
	p := HeadsPage{Values: m.NumAttentionHeads * m.QKNopeHeadDim * PageRows}
	p.Rotated = p.Values + m.NumAttentionHeads*m.VHeadDim*PageRows
	p.Elements = p.Rotated + m.QKRopeHeadDim*PageRows
	return p
}

// HeadsBytes is the size of a page of SpaceHeads; 0: none of the dispatches uses it.
func (b *Bundle) HeadsBytes(list []Dispatch) int64 {
	uses := func(d Dispatch) bool {
		return slices.ContainsFunc(d.Operands, func(o Operand) bool { return o.Space == SpaceHeads })
	}
	if !slices.ContainsFunc(list, uses) {
		return 0
	}
	return b.HeadsElement() * int64(b.Model.HeadsPage().Elements)
}

// HeadsElement is the size of an element of SpaceHeads in bytes.
func (b *Bundle) HeadsElement() int64 {
	if b.Activations == ElemF16 {
		return 2
	}
	return 4
}

// ExpandHeads makes keys or values of all heads, W · c, of the latent cache rows c that a replay's
// rows attend to: of every block table among them those of all pages up to the longest of its
// rows. Rows of the last page after it are made of the last row. The heads of a prompt are
// cheaper than the latent rows where many queries share them; see AttendHeads.
type ExpandHeads struct {
	W      int // typed: keys [Heads][LatDim][Dim], transposed, as queries are multiplied by it; values [Heads][Dim][LatDim]
	Keys   bool
	Heads  int
	Dim    int // of a head's keys or values
	LatDim int
	PeDim  int   // rotated columns of a cache row, which keys bring over as they are
	Cache  Paged // in front of them are LatDim latent ones
	Out    int   // of SpaceHeads
	Shares int   // threadgroups that take every Shares-th page, or pair of them, of the same head's columns
}

// Columns is how many columns of a head a threadgroup makes at a time: of values of a page, of keys,
// whose weights pass through its memory, of two.
func (p *ExpandHeads) Columns() int {
	if p.Keys {
		return ExpandKeys
	}
	return ExpandValues
}

// The columns of keys and of values that a threadgroup makes.
const (
	ExpandKeys   = 64
	ExpandValues = 128
)

// Groups implements Part.
func (p *ExpandHeads) Groups() int { return p.Heads * ceil(p.Dim, p.Columns()) * p.Shares }

// Sizes implements Part.
func (p *ExpandHeads) Sizes() []int { return []int{p.Heads, p.Dim, p.LatDim, p.PeDim, p.Shares} }

// Uses implements Part.
func (p *ExpandHeads) Uses() []Use {
	var l uses
	rows, cols := p.Dim, p.LatDim
	if p.Keys {
		rows, cols = p.LatDim, p.Dim
	}
	l.weight(p.W, p.Heads, rows, cols, p.Heads*rows)
	l.pages(RoleCache, p.Cache, p.LatDim, p.PeDim, 0, false)
	l.add(Use{Slot: p.Out, As: RoleHeads, Write: true, Entries: 1, Terms: p.LatDim})
	return l
}

func (p *ExpandHeads) groupsOfAll(*Kernel) int { return p.Groups() }

// AttendHeads is attention of many rows over keys and values that ExpandHeads has made: a query
// and a cache row cost PeDim + NopeDim + VDim products a head in place of the 2 LatDim + PeDim
// of latent attention. A threadgroup has one head of RowsPerGroup rows. A query
// gets no weight of cache rows after its own row's number of them, and Out is not written for
// dead rows.
type AttendHeads struct {
	QNope        Vec // [Heads] × NopeDim
	QPe          Vec // [Heads] × PeDim
	Heads        int
	NopeDim      int
	PeDim        int
	VDim         int
	Scale        float64
	Temperature  Temperature // as in Attend
	KV           Paged       // of SpaceHeads
	Out          Vec         // [Heads] × VDim
	RowsPerGroup int         // queries of a threadgroup
	SplitK       int         // simdgroups that share queries and take different cache rows of a tile; of class apple also different columns of Out
	Tile         int         // cache rows at a time, of halves; half as many of floats, of class apple as many
}

// Groups implements Part.
func (p *AttendHeads) Groups() int { return p.Heads }

// Sizes implements Part.
func (p *AttendHeads) Sizes() []int {
	return p.Temperature.sizes(p.Heads, p.NopeDim, p.PeDim, p.VDim, p.RowsPerGroup, p.SplitK, p.Tile)
}

// Uses implements Part.
func (p *AttendHeads) Uses() []Use {
	var l uses
	l.read(p.QNope, p.Heads, p.NopeDim)
	l.read(p.QPe, p.Heads, p.PeDim)
	l.pages(RoleHeads, p.KV, 0, 0, 0, false)
	l.write(p.Out, p.Heads, p.VDim, p.NopeDim+p.PeDim)
	return l
}

func (p *AttendHeads) groupsOfAll(k *Kernel) int { return p.Heads * ceil(k.Width, p.RowsPerGroup) }
