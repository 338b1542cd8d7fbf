package gguf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mla/runtime/quant"
)

// oneModel refuses shards that cannot be of one file: parts of two quantisations of a model
// have the same names and shapes. All but the first shard only say how many tensors there
// are in all, so the types of the tensors must tell. Quantisers mix types, but a weight of
// all layers does not change its type just where a shard ends, and not all weights at once.
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
				return fmt.Errorf("%s and %s are parts of different quantisations: the tensors %s have type %s in the first and %s in the second, and other tensors differ alike; load all parts of one",
					other.Path, s.Path, role, a, b)
			}
		}
	}
	return nil
}

// The least number of weights of all layers that have other types in two shards, and the
// least share of those that both shards have, in per cent, for the shards to be of two files.
const (
	leastOther  = 4
	leastShare  = 75
	shownOfType = 3
)

// otherTypes returns a weight whose types differ between two shards, if nearly all do.
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

// layerTypes are the types of a shard's quantised tensors, by their name without the layer.
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

// listed names the first of some types.
func listed(types []quant.Type) string {
	var names []string
	for _, t := range types[:min(len(types), shownOfType)] {
		names = append(names, strings.ToUpper(t.String()))
	}
	return strings.Join(names, ", ")
}
