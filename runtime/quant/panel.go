package quant

// Many inputs are multiplied by weights that are decoded once, to a panel: floats of
// nearRows rows. Stretches of a panel and of some inputs meet in the nearest cache.

// decodeFunc decodes steps·step elements of a row to a panel of panelRows rows, of which
// it fills one: of every vector those of all rows lie side by side.
type decodeFunc func(w *byte, steps int, panel *float32)

// panelFunc adds Σ row_r·x_j over some vectors, in lanes, to the sums of panelRows rows and
// as many inputs as its panelLoop says: those of an input's rows lie side by side. x_j lies
// offset bytes behind the start of xs[j].
type panelFunc func(panel *float32, xs *[]float32, offset, vectors int, sums *float32)

// panelLoop is a panelFunc and the number of inputs that it takes.
type panelLoop struct {
	inputs int
	run    panelFunc
}

// panelLoops are the functions of a back end. Their sums have the bits of the rowFuncs.
type panelLoops struct {
	loops []panelLoop // most inputs first
	sum   sumFunc     // leaves panelRows floats for each of n inputs
	lanes int         // floats of a vector
	least int         // as few inputs are worth a panel
	codes map[Type]decodeFunc
}

const (
	panelRows = 4
	// panelStretch is how many elements of rows and inputs are multiplied at a time.
	panelStretch = 512
	// mostPanelInputs is the largest number of inputs of a panelLoop.
	mostPanelInputs = 6
)

// together returns the inputs from j on, as many as a panelLoop takes, and how many of them
// there are: the last one stands for those that are not.
func (n *Inputs) together(j, inputs int) (first *[]float32, there int) {
	there = min(inputs, len(n.xs)-j)
	if there == inputs {
		return &n.xs[j], there
	}
	for i := range inputs {
		n.last[i] = n.xs[j+min(i, there-1)]
	}
	return &n.last[0], there
}

// room readies memory for a panel and for sums.
func (n *Inputs) room(panel, sums int) {
	if len(n.panel) < panel {
		n.panel = make([]float32, panel)
	}
	if len(n.sums) < sums {
		n.sums = make([]float32, sums)
	}
}

// panelOf returns the loops to multiply several inputs by a panel, and the one that decodes
// f; nil: there is none, or too few inputs for it.
func (n *Inputs) panelOf(f *Format) (*panelLoops, decodeFunc) {
	p := active.Load().panels
	if n.Int8 || p == nil || len(n.xs) < p.least {
		return nil, nil
	}
	return p, p.codes[f.Type]
}

// panel multiplies rows r0 to r1, at most nearRows, by all inputs, which are of at least
// one step.
func (f *Format) panel(p *panelLoops, decode decodeFunc, k *kernel, w []byte, stride int, in *Inputs, ys [][]float32, r0, r1 int) {
	steps, element, offset := f.split(k, len(in.xs[0]))
	groups := (r1 - r0 + panelRows - 1) / panelRows
	size := panelRows * element // floats of a group of rows
	in.room(groups*size, groups*panelRows*mostPanelInputs*p.lanes)
	for r := r0; r < r1; r++ {
		at := (r-r0)/panelRows*size + (r-r0)%panelRows*p.lanes
		decode(&w[r*stride], steps, &in.panel[at])
	}
	for j := 0; j < len(ys); {
		loop := p.loop(len(ys) - j)
		xs, n := in.together(j, loop.inputs)
		each := panelRows * loop.inputs * p.lanes
		clear(in.sums[:groups*each])
		for at := 0; at < element; at += panelStretch {
			vectors := min(panelStretch, element-at) / p.lanes
			for g := range groups {
				loop.run(&in.panel[g*size+panelRows*at], xs, 4*at, vectors, &in.sums[g*each])
			}
		}
		p.sum(&in.sums[0], groups*loop.inputs)
		for i, y := range ys[j : j+n] {
			for g := range groups {
				from := in.sums[(g*loop.inputs+i)*panelRows:][:panelRows]
				if to := y[r0+g*panelRows : r1]; len(to) >= panelRows {
					*(*[panelRows]float32)(to) = [panelRows]float32(from) // as one copy
				} else {
					copy(to, from)
				}
			}
		}
		j += n
	}
	if element == len(in.xs[0]) {
		return
	}
	for j, x := range in.xs {
		for r := r0; r < r1; r++ {
			ys[j][r] += f.Dot(w[r*stride+offset:], x[element:])
		}
	}
}

// loop returns the loop for the next of n inputs: the first that they fill, or else the
// smallest that has room for all of them.
func (p *panelLoops) loop(n int) panelLoop {
	for i, l := range p.loops {
		if n >= l.inputs || i+1 == len(p.loops) || n > p.loops[i+1].inputs {
			return l
		}
	}
	panic("quant: no loops for panels")
}
