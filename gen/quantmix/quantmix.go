// Package quantmix has the quant type of each weight in files of the stock file types ("q4_k_m", …): the
// mixes of llama.cpp's quantiser (llama-quantize, v0.5.0), as tables.
package quantmix

import (
	"fmt"
	"slices"

	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/quant"
)

// Names lists the stock file types.
func Names() []string {
	var names []string
	for i := range mixes {
		names = append(names, mixes[i].name)
	}
	return names
}

// FileType returns the value of general.file_type in files of a stock file type. It fails for unknown names.
func FileType(stock string) (uint32, error) {
	m, err := lookup(stock)
	if err != nil {
		return 0, err
	}
	return m.fileType, nil
}

func lookup(stock string) (*mix, error) {
	i := slices.IndexFunc(mixes, func(m mix) bool { return m.name == stock })
	if i < 0 {
		return nil, fmt.Errorf("unknown stock file type %q; known: %v", stock, Names())
	}
	return &mixes[i], nil
}

// Types returns the types that the weights of weights.Table(s) have when a file of profile q is loaded: one
// per layer, in the order of the table.
//
// A legacy attn_kv_b is split on loading. Values keep their type. Keys are transposed, which blocks do not
// allow, so quantised keys become F32.
func Types(s *spec.Spec, q spec.Quant) ([][]quant.Type, error) {
	var all [][]quant.Type
	for _, row := range weights.Table(s) {
		stored := row
		split := s.HasKVB(&q) && (row.Role == weights.KB || row.Role == weights.VB)
		if split {
			stored = weights.LegacyKVB(s)
		}
		types, err := rowTypes(s, &q, &stored)
		if err != nil {
			return nil, err
		}
		if split && row.Role == weights.KB {
			for i, t := range types {
				types[i] = transposed(t)
			}
		}
		all = append(all, types)
	}
	return all, nil
}

// transposed returns the type of a matrix of type t after transposition.
func transposed(t quant.Type) quant.Type {
	if isFloat(t) {
		return t
	}
	return quant.F32
}

// Stored returns the weights in a file of profile q, and the types of each in its layers. These are the
// weights of weights.Table(s), but legacy files have kv_b_proj instead of k_b_proj and v_b_proj.
func Stored(s *spec.Spec, q spec.Quant) ([]weights.Row, [][]quant.Type, error) {
	var rows []weights.Row
	var all [][]quant.Type
	for _, row := range weights.Table(s) {
		if s.HasKVB(&q) && row.Role == weights.VB {
			continue
		}
		if s.HasKVB(&q) && row.Role == weights.KB {
			row = weights.LegacyKVB(s)
		}
		types, err := rowTypes(s, &q, &row)
		if err != nil {
			return nil, nil, err
		}
		rows, all = append(rows, row), append(all, types)
	}
	return rows, all, nil
}

// rowTypes returns a new slice with the types of one stored weight.
func rowTypes(s *spec.Spec, q *spec.Quant, row *weights.Row) ([]quant.Type, error) {
	if row.F32 {
		return slices.Repeat([]quant.Type{quant.F32}, row.Layers()), nil
	}
	for _, rt := range q.Types {
		if rt.Role != row.Role {
			continue
		}
		if len(rt.Types) != row.Layers() {
			return nil, fmt.Errorf("quant profile %q: %s has %d types; expected one for each of %d layers", q.Name, row.Role, len(rt.Types), row.Layers())
		}
		return slices.Clone(rt.Types), nil
	}
	if q.Stock == "" {
		return nil, fmt.Errorf("quant profile %q has no type for %s", q.Name, row.Role)
	}
	m, err := lookup(q.Stock)
	if err != nil {
		return nil, fmt.Errorf("quant profile %q: %w", q.Name, err)
	}
	types := make([]quant.Type, row.Layers())
	for i := range types {
		types[i] = m.typeOf(s, row, max(row.Layer(i), 0), q.IMatrix)
	}
	return types, nil
}
