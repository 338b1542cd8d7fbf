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
	// Temperature multiplies Scale by a factor that depends on the query's position.
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

// sizes appends the temperature's period, if there is a temperature, to the dimensions of a part.
func (t *Temperature) sizes(list ...int) []int {
	if t.Scale != 0 {
		return append(list, t.Length)
	}
	return list
}
