package plan

import "slices"

// Repeat is a run of dispatches that comes Times times, each Layers layers after the one
// before. Generated tables are made of them, as the layers of a model repeat.
type Repeat struct {
	Times, Layers int
	More          int        // dispatches that come once more, the first ones: the last layer ends differently
	Dispatches    []Dispatch // of the first time
}

// Expand lists the dispatches of all runs, in order.
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

// Moved is what a dispatch is some layers further on: it reads the weights, and the cache
// or the state, of that layer, and the same memory else.
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
