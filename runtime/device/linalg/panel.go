package linalg

import "mla/runtime/quant"

// For many inputs, weights are decoded once, to a panel: a block of rows as floats. The products then run
// over stretches of the panel and of a few inputs that fit the L1 cache together.

// decodeFunc decodes steps·step elements of a row into its place in a panel. The rows of a panel are
// interleaved by vectors: vector i of all rows, then vector i+1 of all rows.
type decodeFunc func(w *byte, steps int, panel *float32)

// panelFunc adds Σ row_r·x_j over some groups of elements to the lanes of the sums, for the rows of a panel
// and a panelLoop's number of inputs. The sums of all rows for an input are contiguous. x_j begins offset
// bytes after the start of xs[j].
type panelFunc func(panel *float32, xs *[]float32, offset, groups int, sums *float32)

// panelLoop is a panelFunc and the number of inputs that it takes.
type panelLoop struct {
	inputs int
	run    panelFunc
}

// panelKind is a layout of panels. A row is cut into groups of elems elements. floats is the number of floats of a group in a
// row of a panel, and input that in an arranged input.
type panelKind struct {
	elems, floats, input int
	loops                []panelLoop // most inputs first
}

// panelFormat is how a format is decoded to a panel.
type panelFormat struct {
	*panelKind
	decode    decodeFunc
	viaFloats bool // decode reads rows of floats, to which the kernel decodes the format first
}

// panelLoops is the panel functions of a back end. Their sums have the bits of the rowFuncs.
type panelLoops struct {
	rows, lanes int     // rows of a panel, lanes of a vector
	sum         sumFunc // adds up the lanes of 4n sums
	least       int     // least number of inputs for which a panel pays
	formats     map[quant.Type]panelFormat
}

const (
	// panelStretch is how many elements of rows and inputs are multiplied at a time, so that they stay in the
	// L1 cache.
	panelStretch = 512
	// PanelRows is the largest number of rows of a panel; a power of two.
	PanelRows = 64
	// mostPanelInputs is the largest number of inputs of a panelLoop.
	mostPanelInputs = 6
)

// take returns n.in from j on for a panelLoop with the given number of inputs, and how many of these exist.
// If there are fewer, the last input is repeated.
func (n *Inputs) take(j, inputs int) (first *[]float32, there int) {
	there = min(inputs, len(n.in)-j)
	if there == inputs {
		return &n.in[j], there
	}
	for i := range inputs {
		n.last[i] = n.in[j+min(i, there-1)]
	}
	return &n.last[0], there
}

// grow makes the memory for a panel and for partial sums at least as large as asked.
func (n *Inputs) grow(panel, sums int) {
	if len(n.panel) < panel {
		n.panel = make([]float32, panel)
	}
	if len(n.sums) < sums {
		n.sums = make([]float32, sums)
	}
}

// panelOf returns the panel loops for the inputs, and how f is decoded to a panel. It returns nil if the back
// end has none for f, or if there are too few inputs.
func (n *Inputs) panelOf(f *quant.Format) (*panelLoops, panelFormat) {
	p := active.Load().panels
	if n.Int8 && active.Load().int8[f.Type].one != nil || p == nil || len(n.xs) < p.least {
		return nil, panelFormat{}
	}
	return p, p.formats[f.Type]
}

// panelBlockRows is how many rows of elems elements a panel has. All inputs are read once for these rows, and
// the panel stays in the L2 cache.
func panelBlockRows(elems int) int {
	const floats = 1 << 18
	return max(min(floats/elems&^(blockRows-1), PanelRows), blockRows)
}

// multiplyPanel multiplies rows r0 to r1, at most panelBlockRows, by all inputs. Inputs have at least one
// step.
func multiplyPanel(f *quant.Format, p *panelLoops, pf panelFormat, k *kernel, w []byte, stride int, in *Inputs, ys [][]float32, r0, r1 int) {
	steps, element, offset := stepsOf(f, k, len(in.xs[0]))
	tiles := (r1 - r0 + p.rows - 1) / p.rows
	size := p.rows * element / pf.elems * pf.floats
	in.grow(tiles*size, tiles*p.rows*mostPanelInputs*p.lanes)
	if pf.viaFloats && len(in.row) < element {
		in.row = make([]float32, element)
	}
	for r := r0; r < r1; r++ {
		at := (r-r0)/p.rows*size + (r-r0)%p.rows*p.lanes
		if !pf.viaFloats {
			pf.decode(&w[r*stride], steps, &in.panel[at])
			continue
		}
		k.decode(&w[r*stride], steps, &in.row[0])
		pf.decode(&bytesOf(in.row)[0], element/k.floats.step, &in.panel[at])
	}
	for j := 0; j < len(ys); {
		loop := pf.loop(len(ys) - j)
		xs, n := in.take(j, loop.inputs)
		each := p.rows * loop.inputs * p.lanes // floats of the partial sums of a tile
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

// loop returns the loop for the next of n inputs: the largest one that they fill, or the smallest one that is
// large enough for all.
func (k *panelKind) loop(n int) panelLoop {
	for i, l := range k.loops[1:] {
		if n > l.inputs {
			return k.loops[i]
		}
	}
	return k.loops[len(k.loops)-1]
}
