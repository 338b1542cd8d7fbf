package plan

import "slices"

// Repeat is a run of dispatches that is repeated Times times, each time Layers layers further on. Generated
// tables consist of such runs, as the layers of a model repeat.
type Repeat struct {
	Times, Layers int
	More          int        // how many of the first dispatches come once more: the last layer ends differently
	Dispatches    []Dispatch // of the first repetition
}

// Expand lists the dispatches of all runs in order.
func Expand(runs ...Repeat) []Dispatch {
	var all []Dispatch
	for _, r := range runs {
		for i := range r.Times*len(r.Dispatches) + r.More {
			time, place := i/len(r.Dispatches), i%len(r.Dispatches)
			all = append(all, r.Dispatches[place].Moved(time*r.Layers))
		}
	}
	return all
}

// Moved returns the dispatch for another layer: it has that layer's weights and cache or state, and the same
// other memory.
func (d Dispatch) Moved(layers int) Dispatch {
	d.Layer += layers
	d.Operands = slices.Clone(d.Operands)
	for i := range d.Operands {
		if s := d.Operands[i].Space; s == SpaceKV || s == SpaceState {
			d.Operands[i].Index += layers
		}
	}
	return d
}
