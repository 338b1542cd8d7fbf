package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"mla/runtime/quant"
)

// The paths of the dimensions that determine the rows and layers of roles.
var (
	layerDims = []string{"model.num_hidden_layers", "model.hidden_size", "model.num_attention_heads", "model.kv_lora_rank",
		"model.qk_nope_head_dim", "model.v_head_dim", "model.intermediate_size"}
	expertDims = []string{"moe.first_k_dense_replace", "moe.n_shared_experts", "moe.moe_intermediate_size"}
	linearDims = []string{"linear_attn_config.full_attn_layers", "linear_attn_config.head_dim"}
)

// types decodes the mapping from roles to runs of types. In a profile with a stock file type the mapping
// overrides some roles; without one it must name all roles.
func (d *decoder) types(s *Spec, q *Quant, n *yaml.Node) (list []RoleTypes) {
	if !d.has(layerDims...) || s.MoE != nil && !d.has(expertDims...) || s.Hybrid != nil && !d.has(linearDims...) {
		return nil // rows and layers are unknown because of a mistake that is already reported
	}
	if n.Kind != yaml.MappingNode {
		d.errorf(n, "types is %s; expected a mapping from roles to quant types", describe(n))
		return nil
	}
	all := roles(s, s.HasKVB(q))
	given := map[string][]quant.Type{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(all, func(r role) bool { return r.name == key.Value })
		switch {
		case at < 0:
			d.errorf(key, "%s", unknown("role in types", key.Value, roleNames(all)))
		case given[key.Value] != nil:
			d.errorf(key, "role %q appears twice in types", key.Value)
		default:
			given[key.Value] = d.runs(&all[at], value)
		}
	}
	for _, r := range all {
		if t := given[r.name]; t != nil {
			list = append(list, RoleTypes{r.name, t})
		} else if q.Stock == "" {
			d.errorf(n, "types of profile %q lack the role %q", q.Name, r.name)
		}
	}
	return list
}

func roleNames(list []role) []string {
	var names []string
	for _, r := range list {
		names = append(names, r.name)
	}
	return names
}

// unset marks layers that no run has named yet. It is not the number of any type.
const unset = ^quant.Type(0)

// runs decodes the types of one role, such as "q6_k 0-3,6,9; q4_k": runs separated by semicolons, each with a
// type and the layers that have it. The last run may leave out the layers and then gives its type to all
// remaining ones.
func (d *decoder) runs(r *role, n *yaml.Node) []quant.Type {
	types := slices.Repeat([]quant.Type{unset}, r.layers())
	fail := func(format string, args ...any) []quant.Type {
		d.errorf(n, "types of %s: %s", r.name, fmt.Sprintf(format, args...))
		return types // not nil: the role was named
	}
	if !isScalar(n, "!!str") {
		return fail("%s; expected a string such as \"q6_k 0-3; q4_k\"", describe(n))
	}
	list := strings.Split(n.Value, ";")
	for i, run := range list {
		name, layers, _ := strings.Cut(strings.TrimSpace(run), " ")
		f, ok := quant.ByName(name)
		if !ok {
			return fail("%s", unknown("quant type", name, typeNames()))
		}
		if r.cols%f.BlockElems != 0 {
			return fail("%s has blocks of %d elements, which do not divide the rows of %d", f.Name, f.BlockElems, r.cols)
		}
		if strings.TrimSpace(layers) == "" && i < len(list)-1 {
			return fail("%q names no layers; only the last run may stand for all the others", run)
		}
		if err := assign(types, r, f.Type, layers); err != nil {
			return fail("%v", err)
		}
	}
	if i := slices.Index(types, unset); i >= 0 {
		return fail("layer %d has no type", r.layer(i))
	}
	return types
}

// assign gives type t to the layers listed in text, such as "0-3,6,9", or if text is empty to the layers that
// are unset.
func assign(types []quant.Type, r *role, t quant.Type, text string) error {
	if text = strings.TrimSpace(text); text == "" {
		for i := range types {
			if types[i] == unset {
				types[i] = t
			}
		}
		return nil
	}
	if r.first < 0 {
		return fmt.Errorf("%q: the role is in no layer; expected a type alone", text)
	}
	for _, span := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(span), "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA != nil || errB != nil || a < r.first || b >= r.last || a > b {
			return fmt.Errorf("layers %q; expected numbers or ranges from %d to %d", span, r.first, r.last-1)
		}
		for l := a; l <= b; l++ {
			i := r.index(l)
			switch {
			case i < 0:
				return fmt.Errorf("layer %d does not have the role", l)
			case types[i] != unset:
				return fmt.Errorf("layer %d has two types", l)
			}
			types[i] = t
		}
	}
	return nil
}

// FormatTypes writes the types of a role as a spec does. types[i] is the type in layer layers[i]; layers is
// nil for a role outside the layers. The commonest type comes last and without layers.
func FormatTypes(types []quant.Type, layers []int) string {
	var order []quant.Type
	count := map[quant.Type]int{}
	for _, t := range types {
		if count[t] == 0 {
			order = append(order, t)
		}
		count[t]++
	}
	slices.SortStableFunc(order, func(a, b quant.Type) int { return count[a] - count[b] })
	var b strings.Builder
	for i, t := range order {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(t.String())
		if i < len(order)-1 {
			b.WriteString(" " + spans(types, t, layers))
		}
	}
	return b.String()
}

// spans lists the layers of type t as "0-3,6,9".
func spans(types []quant.Type, t quant.Type, layers []int) string {
	var list []string
	for i := 0; i < len(types); i++ {
		if types[i] != t {
			continue
		}
		j := i
		for j+1 < len(types) && types[j+1] == t && layers[j+1] == layers[j]+1 {
			j++
		}
		if i == j {
			list = append(list, strconv.Itoa(layers[i]))
		} else {
			list = append(list, fmt.Sprintf("%d-%d", layers[i], layers[j]))
		}
		i = j
	}
	return strings.Join(list, ",")
}
