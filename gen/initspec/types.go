package initspec

import (
	"fmt"
	"reflect"
	"strings"

	"mla/gen/quantmix"
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// profile describes the quant types of a file: by the name of a stock mix if all types are those of the mix,
// else role by role.
func profile(f *gguf.File, s *spec.Spec, legacy bool) (spec.Quant, error) {
	models := []*spec.Spec{s}
	if s.Model.NumNextNPredictLayers > 0 {
		models = append(models, s.NextNLayer())
	}
	var all []stored
	for _, m := range models {
		have, err := storedIn(f, m, legacy)
		if err != nil {
			return spec.Quant{}, err
		}
		all = append(all, have)
	}
	if q, ok, err := stock(f, all, legacy); ok || err != nil {
		return q, err
	}
	q := spec.Quant{Name: profileName(f.Path), LegacyKVB: legacy, Types: all[0].roles()}
	if len(all) > 1 {
		q.NextN = all[1].roles()
	}
	return q, nil
}

// stored has the weights of a file that belong to a model or to its multi-token-prediction layer.
type stored struct {
	spec  *spec.Spec
	rows  []weights.Row
	types [][]quant.Type
}

func storedIn(f *gguf.File, s *spec.Spec, legacy bool) (have stored, err error) {
	have.spec = s
	have.rows, _, err = quantmix.Stored(s, spec.Quant{Stock: "f32", LegacyKVB: legacy})
	for i := range have.rows {
		var t []quant.Type
		if t, err = fileTypes(f, s, &have.rows[i]); err != nil {
			break
		}
		have.types = append(have.types, t)
	}
	return have, err
}

// roles returns the types of all weights that quantisers may change.
func (s *stored) roles() (list []spec.RoleTypes) {
	for i, row := range s.rows {
		if !row.F32 {
			list = append(list, spec.RoleTypes{Role: row.Role, Types: s.types[i]})
		}
	}
	return list
}

// stock looks for stock mixes with exactly these types. If there are several, it prefers the one that
// general.file_type names.
func stock(f *gguf.File, all []stored, legacy bool) (found spec.Quant, ok bool, err error) {
	want, _, err := f.Uint("general.file_type")
	if err != nil {
		return found, false, err
	}
	for _, name := range quantmix.Names() {
		for _, imatrix := range []string{"", " imatrix"} {
			q, err := spec.ParseQuant(name + imatrix)
			if err != nil {
				return found, false, err
			}
			if q.LegacyKVB = legacy; legacy {
				q.Name += " legacy_kv_b"
			}
			alike := true
			for _, have := range all {
				_, mix, err := quantmix.Stored(have.spec, q)
				if err != nil {
					return found, false, err
				}
				alike = alike && reflect.DeepEqual(mix, have.types)
			}
			if !alike {
				continue
			}
			number, err := quantmix.FileType(name)
			if err != nil {
				return found, false, err
			}
			if uint64(number) == want {
				return q, true, nil
			}
			if !ok {
				found, ok = q, true
			}
		}
	}
	return found, ok, nil
}

// fileTypes returns the types of one weight in all its layers, and checks its shape.
func fileTypes(f *gguf.File, s *spec.Spec, row *weights.Row) ([]quant.Type, error) {
	var types []quant.Type
	for l := range row.Layers() {
		t, stored, err := tensor(f, s, row, l)
		if err != nil {
			return nil, err
		}
		if t.Dims[0] != uint64(stored.Cols) || t.Elems() != uint64(stored.Elems()) {
			return nil, fmt.Errorf("tensor %q has dimensions %d; expected [%d %d %d]", t.Name, t.Dims, stored.Cols, stored.Rows, stored.Batch)
		}
		if _, err := t.Format(); err != nil {
			return nil, err
		}
		if row.F32 && t.Type != quant.F32 {
			return nil, fmt.Errorf("tensor %q is %v; expected f32, which quantisers leave it in", t.Name, t.Type)
		}
		typ, err := f.TypeInKernels(t)
		if err != nil {
			return nil, err
		}
		types = append(types, typ)
	}
	return types, nil
}

// tensor finds a weight in the l-th layer that has it. It also returns the row that the tensor holds. Some
// files have the experts' gate and up projections in one tensor, or the queries, keys and values of linear
// attention; these weights all have its type.
func tensor(f *gguf.File, s *spec.Spec, row *weights.Row, l int) (*gguf.Tensor, *weights.Row, error) {
	if t, ok := f.Tensor(row.Name(l)); ok && len(t.Dims) > 0 {
		return t, row, nil
	}
	switch row.Role {
	case weights.SharedHeadNorm, weights.SharedHead:
		if t, ok := f.Tensor(row.AltName(l)); ok && len(t.Dims) > 0 {
			return t, row, nil
		}
	case weights.LinearQ, weights.LinearK, weights.LinearV:
		fused := *row
		fused.Rows *= 3
		if t, ok := f.Tensor(row.AltName(l)); ok && len(t.Dims) > 0 {
			return t, &fused, nil
		}
	case weights.ExpertsGate, weights.ExpertsUp:
		fused := weights.FusedExperts(s)
		if t, ok := f.Tensor(fused.Name(l)); ok && len(t.Dims) > 0 {
			return t, &fused, nil
		}
	}
	return nil, nil, fmt.Errorf("tensor %q is missing", row.Name(l))
}

// profileName makes the name of a profile from the name of the file.
func profileName(path string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._+-", r):
			return r
		}
		return '-'
	}, oneLine(stem(path)))
	if name = strings.TrimLeft(name, "._+-"); name == "" {
		return "file"
	}
	return name
}

// unexpectedTensors refuses a tensor that the model here does not use, because without it the result may
// differ from what the author of the file meant. Blocks after the last layer belong to multi-token prediction
// and are allowed.
func unexpectedTensors(f *gguf.File, s *spec.Spec) error {
	known := map[string]bool{}
	for _, name := range gguf.ArchitectureOf(s.Architecture).Besides {
		known[name] = true
	}
	for _, row := range weights.Table(s) {
		for l := range row.Layers() {
			known[row.Name(l)], known[row.AltName(l)] = true, true
		}
	}
	for i := range f.Tensors {
		name := f.Tensors[i].Name
		var block int
		if n, err := fmt.Sscanf(name, "blk.%d.", &block); n == 1 && err == nil && block >= s.Model.NumHiddenLayers {
			continue
		}
		if t, ok := f.Scaled(name); ok {
			name = t.Name
		}
		if !known[name] {
			return fmt.Errorf("tensor %q is no weight of a model of architecture %s as it is known here; it may change what the model computes", f.Tensors[i].Name, s.Architecture)
		}
	}
	return nil
}
