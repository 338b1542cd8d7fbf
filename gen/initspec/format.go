package initspec

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"mla/gen/spec"
	"mla/gen/target"
	"mla/gen/weights"
	"mla/runtime/gguf"
	"mla/runtime/gguf/hparams"
)

// writer collects lines of YAML.
type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
}

// sequences is the widths of the sequences of a new spec: one token, a batch and a prompt. Without the last one
// a long prompt would run 16 tokens at a time.
const sequences = "[1, 16, 512]"

// format writes a spec in the order and style of those in folder specs. source is the name of the file that
// it was made from. Without activations the key is left out.
func format(s *spec.Spec, source string, activations []string) ([]byte, error) {
	title, err := json.Marshal(s.Model.Title) // every JSON string is a YAML string
	if err != nil {
		return nil, err
	}
	w := &writer{}
	w.line("# Written by mlagen init from %s.", oneLine(source))
	w.line("version: %d\n", spec.Version())
	if s.Architecture != gguf.Deepseek2 {
		w.line("architecture: %s\n", s.Architecture)
	}
	w.model(&s.Model, string(title))
	if t := s.Temperature; t.Scale != 0 {
		w.line("\ntemperature:")
		w.line("  scale: %s", number(t.Scale))
		w.line("  length: %d", t.Length)
	}
	w.rope(&s.Rope)
	if s.MoE != nil {
		w.experts(s.MoE)
	}
	if s.Hybrid != nil {
		w.hybrid(s.Hybrid)
	}
	w.line("\ntokenizer: %s", s.Tokenizer)
	w.line("chat_template: %s", s.ChatTemplate)
	w.line("sequences: %s", sequences)
	if len(activations) > 0 {
		w.line("activations: [%s]", strings.Join(activations, ", "))
	}
	w.line("\nquants:")
	for _, q := range s.Quants {
		w.quant(s, &q)
	}
	if n := s.Tuning.Attention.Simdgroups; n != target.For("").Attention().Simdgroups {
		w.line("\ntuning:")
		w.line("  attention:")
		w.line("    simdgroups: %d", n)
	}
	return []byte(w.String()), nil
}

func (w *writer) model(m *spec.Model, title string) {
	w.line("model:")
	w.line("  title: %s", title)
	w.parameters(&m.Dims)
	if m.NumNextNPredictLayers > 0 {
		w.line("  num_nextn_predict_layers: %d", m.NumNextNPredictLayers)
	}
}

// parameters writes the fields of a struct with tags of package hparams.
func (w *writer) parameters(of any) {
	for _, p := range hparams.Parameters(of) {
		text := ""
		switch v := p.Value.(type) {
		case *int:
			if text = strconv.Itoa(*v); p.Nullable && *v == 0 {
				text = "null"
			}
		case *float64:
			text = number(*v)
		case *bool:
			text = strconv.FormatBool(*v)
		case *string:
			text = *v
		}
		w.line("  %s: %s", p.Name, text)
	}
}

func (w *writer) rope(r *spec.Rope) {
	w.line("\nrope:")
	w.line("  theta: %s", number(r.Theta))
	y := r.Scaling
	if y == nil {
		return
	}
	w.line("  scaling:")
	w.line("    type: yarn")
	w.line("    factor: %s", number(y.Factor))
	w.line("    original_max_position_embeddings: %d", y.OriginalMaxPositionEmbeddings)
	if y.MScaleAllDim != 0 {
		w.line("    mscale_all_dim: %s", number(y.MScaleAllDim))
	}
	if y.AttnFactor != 1 {
		w.line("    attn_factor: %s", number(y.AttnFactor))
	}
}

func (w *writer) experts(e *spec.MoE) {
	w.line("\nmoe:")
	w.parameters(e)
}

func (w *writer) quant(s *spec.Spec, q *spec.Quant) {
	if q.Stock != "" {
		w.line("  - %s", q.Name)
		return
	}
	w.line("  - name: %q", q.Name)
	if q.LegacyKVB {
		w.line("    legacy_kv_b: true")
	}
	w.line("    types:")
	w.types(s, q.Types)
	if q.NextN != nil {
		w.line("    nextn_types:")
		w.types(s.NextNLayer(), q.NextN)
	}
}

func (w *writer) types(s *spec.Spec, types []spec.RoleTypes) {
	layers := map[string][]int{}
	legacy := weights.LegacyKVB(s)
	for _, row := range append(weights.Table(s), legacy) {
		layers[row.Role] = row.Numbers()
	}
	for _, t := range types {
		w.line("      %s: %s", t.Role, spec.FormatTypes(t.Types, layers[t.Role]))
	}
}

// shortest undoes the rounding to float32 in files: it returns the number with the shortest decimal that
// rounds to the same float32.
func shortest(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', -1, 32), 64)
	if err != nil {
		return x
	}
	return y
}

// number returns the shortest decimal that rounds to x as a float32, which is the type in files: 1.8 and not
// 1.7999999523162842.
func number(x float64) string {
	if x >= 1 && x < 1e15 {
		return strconv.FormatFloat(x, 'f', -1, 32)
	}
	return strconv.FormatFloat(x, 'g', -1, 32)
}
