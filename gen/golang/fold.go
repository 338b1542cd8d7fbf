package golang

import (
	"reflect"

	"mla/runtime/plan"
)

// fold is the inverse of plan.Expand: it returns runs of dispatches, in which repeated layers are listed
// once. It takes the run that saves most, and folds the dispatches before and after it.
func fold(list []plan.Dispatch) []plan.Repeat {
	at, length, times, more := longest(list)
	if times == 0 {
		if len(list) == 0 {
			return nil
		}
		return []plan.Repeat{{Times: 1, Dispatches: list}}
	}
	run := plan.Repeat{Times: times, Layers: list[at+length].Layer - list[at].Layer, More: more, Dispatches: list[at : at+length]}
	return append(append(fold(list[:at]), run), fold(list[at+times*length+more:])...)
}

// longest finds the run that saves most dispatches. It begins with a layer, at dispatch at; its length
// dispatches come times times, and then its first more dispatches once again. times 0: nothing repeats.
func longest(list []plan.Dispatch) (at, length, times, more int) {
	saved := 0
	for l := 1; l <= len(list)/2; l++ {
		same := 0 // number of dispatches from i on that are repeated l later
		for i := len(list) - l - 1; i >= 0; i-- {
			if i+l+1 < len(list) && delta(list, i, l) != delta(list, i+1, l) {
				same = 0
			}
			if list[i].Kernel != list[i+l].Kernel || delta(list, i, l) < 1 || !reflect.DeepEqual(list[i].Moved(delta(list, i, l)), list[i+l]) {
				same = 0
				continue
			}
			same++
			begins := i == 0 || list[i-1].Layer != list[i].Layer
			if begins && same >= l && same >= saved {
				at, length, times, more, saved = i, l, same/l+1, same%l, same
			}
		}
	}
	return at, length, times, more
}

// delta returns how many layers lie between a dispatch and the one l later.
func delta(list []plan.Dispatch, i, l int) int { return list[i+l].Layer - list[i].Layer }
