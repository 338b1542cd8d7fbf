package plan

import "slices"

// HeadsPage is the layout of a page of SpaceHeads: where the keys, values and rotated columns of its PageRows
// cache rows begin, in elements of the activations' type. Layers use the memory in turn.
type HeadsPage struct {
	Keys     int // [heads][PageRows][QKNopeHeadDim]
	Values   int // [heads][VHeadDim][PageRows]: PageRows is innermost, as products with attention's weights sum over it
	Rotated  int // [PageRows][QKRopeHeadDim]: the part of the keys that all heads share
	Elements int // of a page
}

// HeadsPage is the layout of the model's expanded heads.
func (m *Model) HeadsPage() HeadsPage {
	p := HeadsPage{Values: m.NumAttentionHeads * m.QKNopeHeadDim * PageRows}
	p.Rotated = p.Values + m.NumAttentionHeads*m.VHeadDim*PageRows
	p.Elements = p.Rotated + m.QKRopeHeadDim*PageRows
	return p
}

// HeadsBytes is the size of a page of SpaceHeads in bytes; 0: none of the dispatches uses it.
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

// ExpandHeads computes the keys or values W · c of all heads from the latent cache rows c that the rows of a
// replay attend to. For each block table it covers all pages up to the longest of the table's rows. In the
// last page it repeats the last row to the end of the page. See AttendHeads for when this is cheaper than
// latent attention.
type ExpandHeads struct {
	W      int // typed: keys [Heads][LatDim][Dim] (the transposed matrix that queries are multiplied by), values [Heads][Dim][LatDim]
	Keys   bool
	Heads  int
	Dim    int // columns of a head's keys or values
	LatDim int
	PeDim  int   // rotated columns of a cache row, which are copied to the keys
	Cache  Paged // its rows have LatDim latent columns, then PeDim rotated ones
	Out    int   // of SpaceHeads
	Shares int   // threadgroups for the same columns; each takes every Shares-th page of values, or pair of pages of keys
}

// Columns is how many columns of a head a threadgroup computes at a time: for one page of values, or for two
// pages of keys, as the weights of keys pass through threadgroup memory.
func (p *ExpandHeads) Columns() int {
	if p.Keys {
		return ExpandKeys
	}
	return ExpandValues
}

// Columns of keys and of values that a threadgroup computes at a time.
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

// AttendHeads is attention of many rows over the keys and values of ExpandHeads. A pair of a query and a
// cache row costs PeDim + NopeDim + VDim products per head, where latent attention takes 2 LatDim + PeDim. A
// threadgroup has RowsPerGroup rows of one head. The mask is causal: row r attends to its first NKV cache
// rows. Out of dead rows is not written.
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
	// SplitK is how many simdgroups share queries, each with other cache rows of a tile. For class apple they also
	// have different columns of Out.
	SplitK int
	// Tile is how many cache rows of halves are read at a time. Of floats it is half as many, for class apple the same.
	Tile int
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
