package plan

// Paged is a layer's latent cache in pages. The cache row of position p of a session
// is row p%PageRows of page Tables[row.Table][p/PageRows].
type Paged struct {
	Slot     int // typed, one of CacheTypes, of SpaceKV; or of SpaceHeads
	Tables   int // of SpaceTables
	MaxPages int // entries of a table
}

// StoreKV writes one latent cache row [lat | k_pe] at the current position.
type StoreKV struct {
	Lat, KPe      Vec
	LatDim, PeDim int
	Cache         Paged
	Norm          *Norm   // applied to Lat
	Rope          *RopeAt // applied to KPe (one head)
}

// Groups implements Part.
func (p *StoreKV) Groups() int { return 1 }

// Sizes implements Part.
func (p *StoreKV) Sizes() []int { return []int{p.LatDim, p.PeDim} }

// Uses implements Part.
func (p *StoreKV) Uses() []Use {
	var l uses
	l.read(p.Lat, 1, p.LatDim)
	l.read(p.KPe, 1, p.PeDim)
	l.norm(p.Norm, p.LatDim)
	l.rope(p.Rope)
	l.pages(RoleCache, p.Cache, p.LatDim, p.PeDim, p.LatDim, true)
	return l
}

// Attend is split-KV latent attention: every threadgroup serves all heads for
// one split, so a cache row is read once for keys and values of every head.
type Attend struct {
	QAbs   Vec // [Heads] × LatDim
	QPe    Vec // [Heads] × PeDim
	Heads  int
	LatDim int
	PeDim  int
	Scale  float64
	// Temperature multiplies Scale by what the position of the query says.
	Temperature Temperature
	Cache       Paged
	Out, ML     int // see Combine
	Splits      Splits
}

// Groups implements Part.
func (p *Attend) Groups() int { return p.Splits.Count }

// Sizes implements Part.
func (p *Attend) Sizes() []int {
	return p.Temperature.sizes(p.Heads, p.LatDim, p.PeDim, p.Splits.Count, p.Splits.Tile)
}

// Uses implements Part.
func (p *Attend) Uses() []Use {
	var l uses
	l.latent(p.QAbs, p.QPe, p.Heads, p.LatDim, p.PeDim, p.Cache)
	l.splits(&Combine{Out: p.Out, ML: p.ML, Splits: p.Splits, Heads: p.Heads}, p.LatDim, p.LatDim+p.PeDim, true)
	return l
}

// AttendRows is latent attention of many rows at once, as a prompt has them: a threadgroup
// serves so many queries, one of each head of a row and the rows' side by side, and reads the
// cache once for all of them. It divides at the end: nothing is left to combine. Rows that
// follow each other and have one block table share what is read; a query gets no weight of
// cache rows behind its own row's number of them. Out is not written for dead rows.
type AttendRows struct {
	QAbs        Vec // [Heads] × LatDim
	QPe         Vec // [Heads] × PeDim
	Heads       int
	LatDim      int
	PeDim       int
	Scale       float64
	Temperature Temperature // as in Attend
	Cache       Paged
	Out         Vec // [Heads] × LatDim: Σ e^score c / Σ e^score
	Queries     int // of a threadgroup
	Tile        int // cache rows at a time, at most
}

// Groups implements Part.
func (p *AttendRows) Groups() int { return ceil(p.Heads, p.Queries) }

// Sizes implements Part.
func (p *AttendRows) Sizes() []int {
	return p.Temperature.sizes(p.Heads, p.LatDim, p.PeDim, p.Queries, p.Tile)
}

// Uses implements Part.
func (p *AttendRows) Uses() []Use {
	var l uses
	l.latent(p.QAbs, p.QPe, p.Heads, p.LatDim, p.PeDim, p.Cache)
	l.write(p.Out, p.Heads, p.LatDim, p.LatDim+p.PeDim)
	return l
}

// groupsOfAll: a threadgroup may have queries of several rows.
func (p *AttendRows) groupsOfAll(k *Kernel) int { return ceil(k.Width*p.Heads, p.Queries) }

// sizes are the sizes of a part whose queries have this temperature.
func (t *Temperature) sizes(list ...int) []int {
	if t.Scale != 0 {
		return append(list, t.Length)
	}
	return list
}
