package synth

import (
	"fmt"

	"mla/gen/quantmix"
	"mla/gen/spec"
	"mla/runtime/gguf"
	"mla/runtime/gguf/hparams"
)

// gatingFuncs has the values of expert_gating_func.
var gatingFuncs = map[string]uint32{"softmax": 1, "sigmoid": 2}

// metaList collects metadata in file order.
type metaList struct {
	architecture string
	list         []gguf.KV
}

func (l *metaList) add(key string, v gguf.Value) {
	l.list = append(l.list, gguf.KV{Key: key, Value: v})
}

// own adds a key of the architecture.
func (l *metaList) own(key string, v gguf.Value) { l.add(l.architecture+"."+key, v) }

// count adds a key of the architecture with a non-negative integer.
func (l *metaList) count(key string, n int) {
	l.own(key, gguf.Uint32(uint32(n)))
}

func (l *metaList) float(key string, x float64) {
	l.own(key, gguf.Float32(float32(x)))
}

// parameter adds the key of a field, if it has a key of its own. Converters do not write false booleans.
func (l *metaList) parameter(p *hparams.Parameter) {
	if p.Key == "" {
		return
	}
	switch v := p.Value.(type) {
	case *int:
		l.count(p.Key, *v)
	case *float64:
		l.float(p.Key, *v)
	case *bool:
		if *v {
			l.own(p.Key, gguf.Bool(true))
		}
	}
}

// metadata lists the keys that converters write for this architecture.
func metadata(s *spec.Spec, q spec.Quant) ([]gguf.KV, error) {
	l := metaList{architecture: s.Architecture}
	l.add("general.architecture", gguf.String(s.Architecture))
	l.add("general.type", gguf.String("model"))
	l.add("general.name", gguf.String(s.Model.Title+" with random weights"))
	l.add("general.quantization_version", gguf.Uint32(2))
	if q.Stock != "" {
		fileType, err := quantmix.FileType(q.Stock)
		if err != nil {
			return nil, err
		}
		l.add("general.file_type", gguf.Uint32(fileType))
	}
	l.model(s, &q)
	l.rope(s)
	if t := s.Temperature; t.Scale != 0 {
		l.float("attention.temperature_scale", t.Scale)
		l.count("attention.temperature_length", t.Length)
	}
	l.experts(s)
	l.hybrid(s)
	if err := l.tokenizer(s); err != nil {
		return nil, fmt.Errorf("%s: %w", s.File, err)
	}
	return l.list, nil
}

// model adds the dimensions. Legacy files describe expanded heads; other files describe the latent cache, and
// have separate keys for the heads.
func (l *metaList) model(s *spec.Spec, q *spec.Quant) {
	m := &s.Model
	key := m.QKNopeHeadDim + m.QKRopeHeadDim
	l.count("block_count", m.NumHiddenLayers+m.NumNextNPredictLayers)
	if n := m.NumNextNPredictLayers; n > 0 {
		l.count("nextn_predict_layers", n)
	}
	for _, p := range hparams.Parameters(&m.Dims) {
		if p.Name != "q_lora_rank" || !gguf.ArchitectureOf(s.Architecture).FullQuery {
			l.parameter(&p)
		}
	}
	if s.HasKVB(q) {
		l.count("attention.head_count_kv", m.NumAttentionHeads)
		l.count("attention.key_length", key)
		l.count("attention.value_length", m.VHeadDim)
		return
	}
	if s.Hybrid == nil { // hybrid writes an array instead
		l.count("attention.head_count_kv", 1)
	}
	l.count("attention.key_length", m.KVLoraRank+m.QKRopeHeadDim)
	l.count("attention.value_length", m.KVLoraRank)
	l.count("attention.key_length_mla", key)
	l.count("attention.value_length_mla", m.VHeadDim)
}

func (l *metaList) rope(s *spec.Spec) {
	l.float("rope.freq_base", s.Rope.Theta)
	y := s.Rope.Scaling
	if y == nil {
		return
	}
	l.own("rope.scaling.type", gguf.String("yarn"))
	l.float("rope.scaling.factor", y.Factor)
	l.count("rope.scaling.original_context_length", y.OriginalMaxPositionEmbeddings)
	if y.AttnFactor != 1 {
		l.float("rope.scaling.attn_factor", y.AttnFactor)
	}
	if y.MScaleAllDim != 0 {
		l.float("rope.scaling.yarn_log_multiplier", 0.1*y.MScaleAllDim)
	}
}

// experts adds the mixture of experts. Dense models carry the keys that the
// loaders of this architecture require of every file.
func (l *metaList) experts(s *spec.Spec) {
	e := s.MoE
	if gguf.ArchitectureOf(s.Architecture).Dense {
		return
	}
	if e == nil {
		l.count("leading_dense_block_count", s.Model.NumHiddenLayers)
		l.count("expert_feed_forward_length", s.Model.IntermediateSize)
		l.count("expert_shared_count", 0)
		return
	}
	for _, p := range hparams.Parameters(e) {
		l.parameter(&p)
	}
	l.own("expert_gating_func", gguf.Uint32(gatingFuncs[e.ScoringFunc]))
}
