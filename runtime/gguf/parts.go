package gguf

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"mla/runtime/quant"
)

// oneModel refuses shards of different files: the parts of two quantisations of a model have the same names
// and shapes. Only the first shard has metadata about types, so the tensors' types have to tell. Quantisers
// mix types within a model, but the types of all weights do not change at once, just where a shard ends.
func oneModel(shards []*File) error {
	first := shards[0]
	want, ok, err := first.Uint(splitTensorsKey)
	if err != nil {
		return err
	}
	for _, s := range shards[1:] {
		if n, has, err := s.Uint(splitTensorsKey); err != nil || has && ok && n != want {
			if err != nil {
				return err
			}
			return fmt.Errorf("%s: key %q is %d, but %d in %s: these are parts of different files", s.Path, splitTensorsKey, n, want, first.Path)
		}
	}
	for i, s := range shards {
		for _, other := range shards[:i] {
			if role, a, b := otherTypes(other, s); role != "" {
				return otherQuantisation(other, s, role, a, b, "other tensors")
			}
		}
	}
	return oneExperts(shards)
}

// oneExperts refuses shards that differ only in the types of experts: parts of two quantisations that keep
// the rest of a model alike. Then each shard has one type per weight, there are two sets of types, and they
// differ in more than one weight. A quantisation that mixes types by layer has two types in some shard, more
// than two sets, or one weight that differs.
func oneExperts(shards []*File) error {
	of, roles := make([]map[string][]quant.Type, len(shards)), map[string]bool{}
	for i, s := range shards {
		of[i] = layerTypes(s)
		maps.DeleteFunc(of[i], func(name string, _ []quant.Type) bool { return !strings.Contains(name, "_exps.") })
		for name, types := range of[i] {
			if roles[name] = true; len(types) > 1 {
				return nil
			}
		}
	}
	var sets []int // the first shard with each set of types
	for i, types := range of {
		same := func(j int) bool { return maps.EqualFunc(of[j], types, slices.Equal) }
		if len(types) == len(roles) && !slices.ContainsFunc(sets, same) {
			sets = append(sets, i)
		}
	}
	if len(sets) != 2 {
		return nil
	}
	a, b := sets[0], sets[1]
	differ := slices.DeleteFunc(slices.Sorted(maps.Keys(roles)), func(name string) bool { return of[a][name][0] == of[b][name][0] })
	if len(differ) < leastExperts {
		return nil
	}
	name := differ[0]
	return otherQuantisation(shards[a], shards[b], name, listed(of[a][name]), listed(of[b][name]), "other experts")
}

// otherQuantisation is the error for two shards in which the tensors of a name, like others, have different
// types.
func otherQuantisation(a, b *File, name, typesA, typesB, others string) error {
	return fmt.Errorf("%s and %s are parts of different quantisations: the tensors %s have type %s in the first and %s in the second, and %s differ alike; load all parts of one",
		a.Path, b.Path, name, typesA, typesB, others)
}

// Thresholds for taking two shards as parts of different files: the least number of weights with different
// types, and their least share of all weights in both shards, in per cent. leastExperts is the least number
// of experts' weights if no other weights differ.
const (
	leastOther   = 4
	leastShare   = 75
	leastExperts = 2
	shownOfType  = 3
)

// otherTypes returns a weight whose types differ between two shards, if the types of nearly all weights do.
func otherTypes(a, b *File) (role, typesA, typesB string) {
	inA, inB := layerTypes(a), layerTypes(b)
	common, other := 0, 0
	for name, types := range inA {
		found, both := inB[name]
		if !both {
			continue
		}
		common++
		if slices.ContainsFunc(types, func(t quant.Type) bool { return slices.Contains(found, t) }) {
			continue
		}
		if other++; role == "" || name < role {
			role, typesA, typesB = name, listed(types), listed(found)
		}
	}
	if other < leastOther || 100*other < leastShare*common {
		return "", "", ""
	}
	return role, typesA, typesB
}

var inLayer = regexp.MustCompile(`^blk\.\d+\.`)

// layerTypes is the types of a shard's quantised tensors, by name without the layer.
func layerTypes(f *File) map[string][]quant.Type {
	types := map[string][]quant.Type{}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		prefix := inLayer.FindString(t.Name)
		if prefix == "" || t.Type == quant.F32 || t.Type == quant.F16 || t.Type == quant.BF16 {
			continue
		}
		name := "blk.N." + strings.TrimPrefix(t.Name, prefix)
		if !slices.Contains(types[name], t.Type) {
			types[name] = append(types[name], t.Type)
		}
	}
	return types
}

// listed names the first few types.
func listed(types []quant.Type) string {
	var names []string
	for _, t := range types[:min(len(types), shownOfType)] {
		names = append(names, strings.ToUpper(t.String()))
	}
	return strings.Join(names, ", ")
}
