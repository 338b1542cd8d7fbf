// Package initspec writes a spec from the header of a GGUF file: the dimensions, and the quant types of its
// tensors.
package initspec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mla/gen/spec"
	"mla/gen/target"
	"mla/gen/weights"
	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/system/atomicfile"
)

// Write makes a spec for an open model file and writes it to out. It replaces an existing file only if force
// is set. The spec asks for a bundle for each of activations, which must be different names in
// spec.Activations; without activations it asks for the default.
func Write(f *gguf.File, out string, force bool, activations ...string) error {
	if _, err := os.Lstat(out); err == nil && !force {
		return fmt.Errorf("%s exists; -f overwrites it", out)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := Generate(f, out, activations...)
	if err != nil {
		return err
	}
	return atomicfile.Write(out, append(schemaLine(out), text...))
}

// schemaLine returns a comment that tells editors where the schema of specs is, if it is in the folder of out
// or in its parent; else nothing.
func schemaLine(out string) []byte {
	for _, path := range []string{"mla.schema.json", "../mla.schema.json"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(out), path)); err == nil {
			return []byte("# yaml-language-server: $schema=" + path + "\n\n")
		}
	}
	return nil
}

// Generate returns the text of a spec for an open model file. out is the name that the spec will have;
// activations are as in Write. If no spec can describe the model, the error names the key or the tensor.
func Generate(f *gguf.File, out string, activations ...string) ([]byte, error) {
	h, err := gguf.ReadHParams(f)
	if err != nil {
		return nil, err
	}
	if err := f.CheckTypes(&h); err != nil {
		return nil, err
	}
	s, err := fromHParams(&h)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if s.ChatTemplate, err = chatTemplate(f, s.Tokenizer); err != nil {
		return nil, err
	}
	s.Model.Title = title(f)
	if h.NextNLayers == 1 && predicts(f, s) {
		s.Model.NumNextNPredictLayers = 1
	} else if s.Hybrid != nil {
		s.Hybrid.HybridExperts = s.Hybrid.Of(0, s.Model.NumHiddenLayers)
	}
	s.Tuning.Attention.Simdgroups = target.For("").AttentionSimdgroups(s.Model.NumAttentionHeads, s.Model.KVLoraRank, s.Model.QKRopeHeadDim)
	if s.Hybrid != nil {
		s.Tuning.Attention.Simdgroups = max(s.Tuning.Attention.Simdgroups, target.For("").HybridSimdgroups(s.Model.NumAttentionHeads))
	}
	legacy := h.LegacyKVB && !gguf.ArchitectureOf(h.Architecture).Dense // for dense architectures it need not be said
	q, err := profile(f, s, legacy)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	if err := unexpectedTensors(f, s); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	s.Quants = []spec.Quant{q}
	text, err := format(s, filepath.Base(f.Path), activations)
	if err != nil {
		return nil, err
	}
	return text, parsed(f, &h, out, text)
}

// parsed returns an error if spec.Parse rejects the text of a spec that was made from a file.
func parsed(f *gguf.File, h *gguf.HParams, out string, text []byte) error {
	if _, err := spec.Parse(out, text); err != nil {
		return fmt.Errorf("%s: %w", f.Path, inFile(f, h, err))
	}
	return nil
}

// predicts reports whether a file that announces a multi-token-prediction layer has its tensors, with the
// attention that such layers have.
func predicts(f *gguf.File, s *spec.Spec) bool {
	if !s.Predicts() {
		return false
	}
	for _, row := range weights.Table(s.NextNLayer()) {
		if _, ok := f.Tensor(row.Name(0)); !ok && (row.Role == weights.EHProj || row.Role == weights.KVAProj) {
			return false
		}
	}
	return true
}

// Name returns the default name of the spec for a model file, without extension: the letters and digits of
// the file's name, so that a bundle's name can be made of it.
func Name(model string) string {
	words := strings.FieldsFunc(strings.ToLower(filepath.Base(gguf.Stem(model))), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	name := strings.Join(words, "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "m" + name
	}
	return name
}

// tokenizer returns the spec's name for a file's tokenizer.
func tokenizer(h *gguf.HParams) (string, error) {
	if h.TokenizerModel == "llama" {
		return spec.SentencePiece, nil
	}
	return gguf.PreTokenizer(h.TokenizerPre)
}

// fromHParams returns a spec with the values of the metadata.
func fromHParams(h *gguf.HParams) (*spec.Spec, error) {
	tokenizer, err := tokenizer(h)
	if err != nil {
		return nil, err
	}
	s := &spec.Spec{Architecture: h.Architecture, Tokenizer: tokenizer, Temperature: plan.Temperature(h.Temperature)}
	s.Model.Dims, s.Hybrid = h.Dims, h.Hybrid
	if h.NRoutedExperts > 0 {
		s.MoE = &h.MoE
	}
	s.Rope.Theta = h.RopeTheta
	r := &h.RopeScaling
	if r.Type == "yarn" {
		s.Rope.Scaling = &spec.Yarn{Factor: r.Factor, OriginalMaxPositionEmbeddings: r.OriginalContext,
			MScaleAllDim: 10 * shortest(r.LogMultiplier), AttnFactor: r.AttnFactor}
	}
	return s, nil
}

// marks has the strings that identify the known chat templates: a template is the first one whose strings it
// contains.
var marks = []struct {
	name, tokenizer string
	all             []string
}{
	{"glm4", "glm4", []string{"[gMASK]<sop>", "<|assistant|>"}},
	{"deepseek-v2", "deepseek-llm", []string{"User: ", "Assistant:"}},
	{"youtu", "youtu", nil}, // the only model with this tokenizer
}

// chatTemplate returns the name of the template of a file: "jinja" if it is unknown, "none" if the file has
// none.
func chatTemplate(f *gguf.File, tokenizer string) (string, error) {
	text, ok, err := f.String("tokenizer.chat_template")
	if err != nil {
		return "", err
	}
	if !ok || strings.TrimSpace(text) == "" {
		return "none", nil
	}
	for _, m := range marks {
		missing := func(mark string) bool { return !strings.Contains(text, mark) }
		if m.tokenizer == tokenizer && !slices.ContainsFunc(m.all, missing) {
			return m.name, nil
		}
	}
	return "jinja", nil
}

// title returns the model's name for people, on one line.
func title(f *gguf.File) string {
	name, _, err := f.String("general.name")
	if err != nil || strings.TrimSpace(name) == "" {
		name = stem(f.Path)
	}
	return oneLine(name)
}

func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// oneLine makes text fit for a string or comment in a spec.
func oneLine(text string) string {
	const longest = 100
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	if runes := []rune(clean); len(runes) > longest {
		clean = string(runes[:longest])
	}
	if clean = strings.TrimSpace(clean); clean == "" {
		return "model"
	}
	return clean
}
