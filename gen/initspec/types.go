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

// profile describes the quant types of a file: by the name of a stock mix when
// all are as there, else role by role.
func profile(f *gguf.File, s *spec.Spec, legacy bool) (spec.Quant, error) {
	rows, _, err := quantmix.Stored(s, spec.Quant{Stock: "f32", LegacyKVB: legacy})
	if err != nil {
		return spec.Quant{}, err
	}
	var types [][]quant.Type
	for i := range rows {
		t, err := fileTypes(f, s, &rows[i])
		if err != nil {
			return spec.Quant{}, err
		}
		types = append(types, t)
	}
	if q, ok, err := stock(f, s, types, legacy); ok || err != nil {
		return q, err
	}
	q := spec.Quant{Name: profileName(f.Path), LegacyKVB: legacy}
	for i, row := range rows {
		if !row.F32 {
			q.Types = append(q.Types, spec.RoleTypes{Role: row.Role, Types: types[i]})
		}
	}
	return q, nil
}

// stock looks for a stock mix with exactly these types, and among several for
// the one that general.file_type names.
func stock(f *gguf.File, s *spec.Spec, types [][]quant.Type, legacy bool) (found spec.Quant, ok bool, err error) {
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
			_, mix, err := quantmix.Stored(s, q)
			if err != nil {
				return found, false, err
			}
			if !reflect.DeepEqual(mix, types) {
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

// fileTypes reads the types of one weight in all its layers and checks its
// shape on the way.
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
		types = append(types, t.Type)
	}
	return types, nil
}

// tensor finds a weight in layer row.First+l. Some files have the experts' gate
// and up projections in one tensor, whose type is that of both.
func tensor(f *gguf.File, s *spec.Spec, row *weights.Row, l int) (*gguf.Tensor, *weights.Row, error) {
	name := func(r *weights.Row) string {
		if r.First < 0 {
			return r.GGUF
		}
		return fmt.Sprintf(r.GGUF, r.First+l)
	}
	if t, ok := f.Tensor(name(row)); ok && len(t.Dims) > 0 {
		return t, row, nil
	}
	if row.Role == weights.ExpertsGate || row.Role == weights.ExpertsUp {
		fused := weights.FusedExperts(s)
		if t, ok := f.Tensor(name(&fused)); ok && len(t.Dims) > 0 {
			return t, &fused, nil
		}
	}
	return nil, nil, fmt.Errorf("tensor %q is missing", name(row))
}

// profileName makes the name of a profile from that of the file.
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

// strangers refuses a tensor that no weight of the model is made of: computing without
// it would give other numbers than the file's author meant. Blocks behind the last layer
// are multi-token prediction.
func strangers(f *gguf.File, s *spec.Spec) error {
	known := map[string]bool{}
	for _, name := range gguf.ArchitectureOf(s.Architecture).Besides {
		known[name] = true
	}
	for _, row := range weights.Table(s) {
		for l := range row.Layers() {
			for _, pattern := range []string{row.GGUF, weights.Alternative(row.Role)} {
				if row.First >= 0 && pattern != "" {
					pattern = fmt.Sprintf(pattern, row.First+l)
				}
				known[pattern] = true
			}
		}
	}
	for i := range f.Tensors {
		name := f.Tensors[i].Name
		var block int
		if n, err := fmt.Sscanf(name, "blk.%d.", &block); n == 1 && err == nil && block >= s.Model.NumHiddenLayers {
			continue
		}
		if !known[name] {
			return fmt.Errorf("tensor %q is no weight of a model of architecture %s as it is known here; it may change what the model computes", name, s.Architecture)
		}
	}
	return nil
}
