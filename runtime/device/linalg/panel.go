package linalg

import "mla/runtime/quant"

// Many inputs are multiplied by weights that are decoded once, to a panel: floats of
// some rows. Stretches of a panel and of some inputs meet in the nearest cache.

// decodeFunc decodes steps·step elements of a row to a panel of some rows, of which it
// fills one: of every vector those of all rows lie side by side.
type decodeFunc func(w *byte, steps int, panel *float32)

// panelFunc adds Σ row_r·x_j over some groups of elements, in lanes, to the sums of the rows
// of a panel and as many inputs as its panelLoop says: those of an input's rows lie side by
// side. x_j lies offset bytes after the start of xs[j].
type panelFunc func(panel *float32, xs *[]float32, offset, groups int, sums *float32)

// panelLoop is a panelFunc and the number of inputs that it takes.
type panelLoop struct {
	inputs int
	run    panelFunc
}

// panelKind is a kind of panels: of rows of groups of a given number of elements, for each of which
// the panel has some floats and an arranged input some.
type panelKind struct {
	elems, floats, input int
	loops                []panelLoop // most inputs first
}

// panelFormat is how a format becomes a panel.
type panelFormat struct {
	*panelKind
	decode decodeFunc
	twice  bool // decode takes rows of floats, which the kernel decodes
}

// panelLoops are the functions of a back end. Their sums have the bits of the rowFuncs.
type panelLoops struct {
	rows, lanes int     // of a panel, and of a vector
	sum         sumFunc // leaves one float of each sum, for n times four of them
	least       int     // as few inputs are worth a panel
	formats     map[quant.Type]panelFormat
}

const (
	// panelStretch is how many elements of rows and inputs are multiplied at a time.
	panelStretch = 512
	// PanelRows is the largest number of rows of a panel; a power of two.
	PanelRows = 64
	// mostPanelInputs is the largest number of inputs of a panelLoop.
	mostPanelInputs = 6
)

// together returns the inputs from j on, as many as a panelLoop takes, and how many of them
// there are: the last one stands for those that are not.
func (n *Inputs) together(j, inputs int) (first *[]float32, there int) {
	there = min(inputs, len(n.in)-j)
	if there == inputs {
		return &n.in[j], there
	}
	for i := range inputs {
		n.last[i] = n.in[j+min(i, there-1)]
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

// panelOf returns the loops to multiply several inputs by a panel, and how f becomes one;
// nil: not at all, or there are too few inputs for it.
func (n *Inputs) panelOf(f *quant.Format) (*panelLoops, panelFormat) {
	p := active.Load().panels
	if n.Int8 && active.Load().int8[f.Type].one != nil || p == nil || len(n.xs) < p.least {
		return nil, panelFormat{}
	}
	return p, p.formats[f.Type]
}

// nearPanel is how many rows of elems elements a panel has: all inputs are read once for
// these, and they stay in the second cache.
func nearPanel(elems int) int {
	const floats = 1 << 18
	return max(min(floats/elems&^(nearRows-1), PanelRows), nearRows)
}

// panel multiplies rows r0 to r1, at most nearPanel, by all inputs, which are of at least
// one step.
func multiplyPanel(f *quant.Format, p *panelLoops, pf panelFormat, k *kernel, w []byte, stride int, in *Inputs, ys [][]float32, r0, r1 int) {
	steps, element, offset := stepsOf(f, k, len(in.xs[0]))
	tiles := (r1 - r0 + p.rows - 1) / p.rows
	size := p.rows * element / pf.elems * pf.floats
	in.room(tiles*size, tiles*p.rows*mostPanelInputs*p.lanes)
	if pf.twice && len(in.row) < element {
		in.row = make([]float32, element)
	}
	for r := r0; r < r1; r++ {
		at := (r-r0)/p.rows*size + (r-r0)%p.rows*p.lanes
		if !pf.twice {
			pf.decode(&w[r*stride], steps, &in.panel[at])
			continue
		}
		k.decode(&w[r*stride], steps, &in.row[0])
		pf.decode(&bytesOf(in.row)[0], element/k.floats.step, &in.panel[at])
	}
	for j := 0; j < len(ys); {
		loop := pf.loop(len(ys) - j)
		xs, n := in.together(j, loop.inputs)
		each := p.rows * loop.inputs * p.lanes // floats of the sums of a tile
		clear(in.sums[:tiles*each])
		for at := 0; at < element; at += panelStretch {
			first, groups := at/pf.elems, min(panelStretch, element-at)/pf.elems
			for t := range tiles {
				loop.run(&in.panel[t*size+p.rows*first*pf.floats], xs, 4*first*pf.input, groups, &in.sums[t*each])
			}
		}
		p.sum(&in.sums[0], tiles*each/p.lanes/4)
		for i, y := range ys[j : j+n] {
			for t := range tiles {
				sums, to := in.sums[(t*loop.inputs+i)*p.rows:][:p.rows], y[r0+t*p.rows:r1]
				for r := range min(len(sums), len(to)) { // too few for copy to be worth a call
					to[r] = sums[r]
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
func (k *panelKind) loop(n int) panelLoop {
	for i, l := range k.loops[1:] {
		if n > l.inputs {
			return k.loops[i]
		}
	}
	return k.loops[len(k.loops)-1]
}
