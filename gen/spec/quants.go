package spec

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"mla/runtime/gguf"
)

// Stocks are the names of llama.cpp's file types that a profile can have. Package quantmix defines which
// types they give to which tensors.
var Stocks = []string{"f32", "f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q5_k_s", "q5_1", "q5_0",
	"q4_k_m", "q4_k_s", "q4_1", "q4_0", "iq4_xs", "iq4_nl", "q3_k_l", "q3_k_m", "q3_k_s",
	"iq3_m", "iq3_s", "iq3_xs", "iq3_xxs", "q2_k", "q2_k_s", "iq2_m", "iq2_s", "iq2_xs", "iq2_xxs",
	"iq1_m", "iq1_s", "tq2_0", "tq1_0"}

// The words that may follow a stock file type.
const (
	imatrixWord = "imatrix"
	legacyWord  = "legacy_kv_b"
)

// maxQuants is the largest number of profiles in one spec.
const maxQuants = 128

// ParseQuant reads a stock profile as a spec writes it: a stock file type in
// any letter case, then "imatrix", "legacy_kv_b" or both.
func ParseQuant(profile string) (Quant, error) {
	words := strings.Fields(profile)
	if len(words) == 0 {
		return Quant{}, errors.New("empty quant profile; expected one of " + strings.Join(Stocks, ", "))
	}
	q := Quant{Stock: strings.ToLower(words[0])}
	if !slices.Contains(Stocks, q.Stock) {
		return Quant{}, errors.New(unknown("quant profile", words[0], Stocks))
	}
	for _, w := range words[1:] {
		switch {
		case w == imatrixWord && !q.IMatrix:
			q.IMatrix = true
		case w == legacyWord && !q.LegacyKVB:
			q.LegacyKVB = true
		default:
			return Quant{}, errors.New(unknown("word after "+q.Stock, w, []string{imatrixWord, legacyWord}))
		}
	}
	q.Name = q.stockName()
	return q, nil
}

// stockName is the name of a profile that the spec gives no name.
func (q *Quant) stockName() string {
	name := q.Stock
	if q.IMatrix {
		name += " " + imatrixWord
	}
	if q.LegacyKVB {
		name += " " + legacyWord
	}
	return name
}

// HasKVB reports whether files of profile q have one tensor attn_kv_b instead of attn_k_b and attn_v_b: old
// files, and all files of some architectures.
func (s *Spec) HasKVB(q *Quant) bool {
	return q.LegacyKVB || gguf.ArchitectureOf(s.Architecture).Dense
}

// decodeQuants decodes the list of profiles.
func (d *decoder) decodeQuants(s *Spec) {
	n := d.quants
	if n == nil {
		return // reported as missing
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > maxQuants {
		d.errorf(n, "quants is %s; expected a list of 1 to %d profiles", describe(n), maxQuants)
		return
	}
	names := map[string]bool{}
	for _, e := range n.Content {
		q, ok := d.quant(s, e)
		if !ok {
			continue
		}
		if names[q.Name] {
			d.errorf(e, "quants has two profiles called %q", q.Name)
		}
		names[q.Name] = true
		s.Quants = append(s.Quants, q)
	}
}

// quant decodes one profile: a string or a mapping. It reports whether the profile was well formed.
func (d *decoder) quant(s *Spec, n *yaml.Node) (Quant, bool) {
	if n.Kind == yaml.ScalarNode {
		q, err := ParseQuant(n.Value)
		if err != nil {
			d.errorf(n, "quants: %v", err)
		}
		return q, err == nil
	}
	var q Quant
	var types, nextN *yaml.Node
	before := len(d.errs)
	d.mapping(n, "quants", quantFields(&q, &types, &nextN))
	if len(d.errs) > before {
		return q, false
	}
	switch {
	case q.Stock == "" && types == nil:
		d.errorf(n, "quants: a profile lacks the key \"stock\" or \"types\"")
	case q.Name == "" && types != nil:
		d.errorf(n, "quants: a profile with types lacks the key \"name\"")
	case q.Stock == "" && q.IMatrix:
		d.errorf(n, "quants: imatrix needs the key \"stock\": it selects another stock mix")
	case !profileName.MatchString(q.Name) && q.Name != "":
		d.errorf(n, "quants: name %q; expected letters, digits, spaces and . _ + -", q.Name)
	}
	if q.Name == "" {
		q.Name = q.stockName()
	}
	if types != nil {
		q.Types = d.types(s, &q, types)
	}
	switch predicts := s.Model.NumNextNPredictLayers > 0; {
	case nextN != nil && !predicts:
		d.errorf(nextN, "quants: nextn_types without num_nextn_predict_layers: 1 in model")
	case nextN != nil:
		q.NextN = d.types(s.NextNLayer(), &q, nextN)
	case predicts && q.Stock == "":
		d.errorf(n, "quants: profile %q has neither stock nor nextn_types, which num_nextn_predict_layers: 1 needs", q.Name)
	}
	return q, len(d.errs) == before
}

var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._+-]*$`)

// quantFields are the keys of a profile that is a mapping. The types stay YAML nodes, because their allowed
// values depend on the other keys.
func quantFields(q *Quant, types, nextN **yaml.Node) []field {
	return []field{
		optional(text("name", &q.Name)),
		optional(oneOf("stock", &q.Stock, Stocks)),
		optional(boolean(imatrixWord, &q.IMatrix)),
		optional(boolean(legacyWord, &q.LegacyKVB)),
		optional(node("types", types)),
		optional(node("nextn_types", nextN)),
	}
}

// node is a key whose value is decoded later.
func node(key string, dst **yaml.Node) field {
	return field{key: key, decode: func(_ *decoder, n *yaml.Node, _ string) bool {
		*dst = n
		return true
	}}
}
