package initspec

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mla/gen/quantmix"
	"mla/gen/spec"
	"mla/gen/synth"
	"mla/runtime/gguf"
	"mla/runtime/quant"
)

const reference = "../../testdata/reference/"

// references are the reference files, the specs that the project ships for them
// and the profile that describes them.
var references = []struct{ file, spec, profile string }{
	{"youtu-mini-Q4_0", "youtumini", "q4_0"},
	{"youtu-mini-Q4_K_M", "youtumini", "q4_k_m"},
	{"youtu-tiny-F32", "yoututiny", "f32"},
	{"youtu-tiny-legacykvb-F32", "yoututiny", "f32 legacy_kv_b"},
	{"dsv2lite-mini-Q4_K_M", "dsv2litemini", "q4_k_m"},
	{"glm47-mini-Q4_K_M", "glm47mini", "q4_k_m"},
	{"glm47-tiny-Q4_0", "glm47tiny", "glm47-tiny-Q4_0"},
}

func load(t *testing.T, path string) *spec.Spec {
	t.Helper()
	s, err := spec.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// writePath is Write for the file of a name.
func writePath(model, out string, force bool, activations ...string) error {
	f, err := gguf.Open(model)
	if err != nil {
		return err
	}
	return errors.Join(Write(f, out, force, activations...), f.Close())
}

// generate runs Write and loads the result.
func generate(t *testing.T, model string) *spec.Spec {
	t.Helper()
	out := filepath.Join(t.TempDir(), "x.yaml")
	if err := writePath(model, out, false); err != nil {
		t.Fatal(err)
	}
	return load(t, out)
}

func types(t *testing.T, s *spec.Spec, q spec.Quant) [][]quant.Type {
	t.Helper()
	list, err := quantmix.Types(s, q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestReferences checks that specs generated from the reference files have the same dimensions as the
// hand-written specs, and only types that those cover.
func TestReferences(t *testing.T) {
	for _, c := range references {
		got := generate(t, reference+c.file+".gguf")
		want := load(t, "../../specs/"+c.spec+".yaml")
		got.Model.Title = want.Model.Title
		if got.Model != want.Model || !reflect.DeepEqual(got.Rope, want.Rope) || !reflect.DeepEqual(got.MoE, want.MoE) {
			t.Errorf("%s:\n got %+v %+v %+v\nwant %+v %+v %+v", c.file, got.Model, got.Rope, got.MoE, want.Model, want.Rope, want.MoE)
		}
		if got.Tokenizer != want.Tokenizer || got.ChatTemplate != want.ChatTemplate {
			t.Errorf("%s: %s, %s; want %s, %s", c.file, got.Tokenizer, got.ChatTemplate, want.Tokenizer, want.ChatTemplate)
		}
		if len(got.Quants) != 1 || got.Quants[0].Name != c.profile {
			t.Errorf("%s: profiles %+v; want %s", c.file, got.Quants, c.profile)
		}
		found := types(t, got, got.Quants[0])
		if !slices.ContainsFunc(want.Quants, func(q spec.Quant) bool { return reflect.DeepEqual(types(t, want, q), found) }) {
			t.Errorf("%s: %s has no profile with its types", c.file, want.File)
		}
	}
}

// TestSynthetic goes from a spec through a file and back.
func TestSynthetic(t *testing.T) {
	for _, name := range []string{"dsv2litemini", "glm47mini"} {
		want := load(t, "../../specs/"+name+".yaml")
		want.ChatTemplate = map[string]string{"dsv2litemini": "deepseek-v2", "glm47mini": "glm4"}[name]
		for _, profile := range []string{"q8_0", "q5_k_m", "q4_k_s", "q4_k_m legacy_kv_b", "bf16 legacy_kv_b"} {
			path := filepath.Join(t.TempDir(), "x.gguf")
			if err := synth.Write(t.Context(), want, profile, path, 1); err != nil {
				t.Fatal(err)
			}
			got := generate(t, path)
			if got.Quants[0].Name != profile || got.ChatTemplate != want.ChatTemplate ||
				!reflect.DeepEqual(got.Rope, want.Rope) || !reflect.DeepEqual(got.MoE, want.MoE) {
				t.Errorf("%s %s: got %+v", name, profile, got)
			}
		}
	}
}

// edited copies a file with changes; data of tensors that edit adds is zero.
func edited(t *testing.T, src string, edit func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo)) string {
	t.Helper()
	f, err := gguf.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var infos []gguf.TensorInfo
	for _, tensor := range f.Tensors {
		infos = append(infos, gguf.TensorInfo{Name: tensor.Name, Type: tensor.Type, Dims: tensor.Dims})
	}
	meta, infos := edit(slices.Clone(f.Meta), infos)
	path := filepath.Join(t.TempDir(), "edited.gguf")
	w, err := gguf.NewWriter(path, meta, infos)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, info := range infos {
		format, _ := quant.Lookup(info.Type)
		size := format.BlockBytes
		for i, d := range info.Dims {
			if i == 0 {
				d /= uint64(format.BlockElems)
			}
			size *= int(d)
		}
		if err := w.WriteTensor(info.Name, func(out io.Writer) error {
			_, err := out.Write(make([]byte, size))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// set replaces or adds a metadata entry.
func set(meta []gguf.KV, key string, v gguf.Value) []gguf.KV {
	i := slices.IndexFunc(meta, func(kv gguf.KV) bool { return kv.Key == key })
	if i < 0 {
		return append(meta, gguf.KV{Key: key, Value: v})
	}
	meta[i].Value = v
	return meta
}

// TestFused holds that a fused gate and up tensor gives both roles its type.
func TestFused(t *testing.T) {
	fuse := func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
		var out []gguf.TensorInfo
		for _, x := range tensors {
			switch {
			case strings.Contains(x.Name, "ffn_up_exps"):
				continue
			case strings.Contains(x.Name, "ffn_gate_exps"):
				x.Name = strings.Replace(x.Name, "ffn_gate_exps", "ffn_gate_up_exps", 1)
				x.Dims = []uint64{x.Dims[0], 2 * x.Dims[1], x.Dims[2]}
			}
			out = append(out, x)
		}
		return meta, out
	}
	got := generate(t, edited(t, reference+"glm47-mini-Q4_K_M.gguf", fuse))
	if got.Quants[0].Name != "q4_k_m" {
		t.Errorf("profile %+v", got.Quants[0])
	}
}

// TestOwnTypes holds that a type that no mix has is listed by role.
func TestOwnTypes(t *testing.T) {
	path := edited(t, reference+"glm47-mini-Q4_K_M.gguf", func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
		for i := range tensors {
			if tensors[i].Name == "blk.2.ffn_gate_exps.weight" {
				tensors[i].Type = quant.Q8_0
			}
		}
		return meta, tensors
	})
	s := generate(t, path)
	for _, rt := range s.Quants[0].Types {
		if rt.Role == "mlp.experts.gate_proj" && spec.FormatTypes(rt.Types, []int{1, 2, 3, 4, 5, 6}[:len(rt.Types)]) == "q8_0 2; q4_k" {
			return
		}
	}
	t.Errorf("profile %+v", s.Quants[0])
}

func TestMetadata(t *testing.T) {
	for _, c := range []struct {
		file, key string
		value     gguf.Value
		want      string // of the error; else check must hold
		check     func(s *spec.Spec) bool
	}{
		{"glm47-tiny-Q4_0", "tokenizer.chat_template", gguf.String("[gMASK]<sop><|user|><|assistant|>"), "", func(s *spec.Spec) bool { return s.ChatTemplate == "glm4" }},
		{"glm47-tiny-Q4_0", "tokenizer.chat_template", gguf.String("{{ x }}"), "", func(s *spec.Spec) bool { return s.ChatTemplate == "jinja" }},
		{"youtu-tiny-F32", "tokenizer.chat_template", gguf.String("{{ x }}"), "", func(s *spec.Spec) bool { return s.ChatTemplate == "youtu" }},
		{"dsv2lite-mini-Q4_K_M", "tokenizer.chat_template", gguf.String("User: Assistant:"), "", func(s *spec.Spec) bool { return s.ChatTemplate == "deepseek-v2" }},
		{"glm47-tiny-Q4_0", "tokenizer.ggml.pre", gguf.String("chatglm-bpe"), "", func(s *spec.Spec) bool { return s.Tokenizer == "glm4" }},
		{"glm47-tiny-Q4_0", "tokenizer.ggml.pre", gguf.String("llama-bpe"), `key "tokenizer.ggml.pre" is "llama-bpe", which is no pre-tokeniser that this program knows; -pre NAME names `, nil},
		{"dsv2lite-mini-Q4_K_M", "deepseek2.rope.scaling.type", gguf.String("linear"), `rope.scaling.factor" is 40; expected 1`, nil},
		{"dsv2lite-mini-Q4_K_M", "deepseek2.rope.scaling.attn_factor", gguf.Float32(1.25), "", func(s *spec.Spec) bool { return s.Rope.Scaling.AttnFactor == 1.25 }},
		{"glm47-tiny-Q4_0", "deepseek2.rope.scaling.attn_factor", gguf.Float32(1.25), "attn_factor\" is 1.25; expected 1 without YaRN", nil},
		{"glm47-tiny-Q4_0", "general.name", gguf.String("a \"b\"\n\x01# ☃"), "", func(s *spec.Spec) bool { return s.Model.Title == "a \"b\"  # ☃" }},
	} {
		path := edited(t, reference+c.file+".gguf", func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
			return set(meta, c.key, c.value), tensors
		})
		out := filepath.Join(t.TempDir(), "x.yaml")
		err := writePath(path, out, false)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s = %v: got %v; want %s", c.key, c.value, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s = %v: %v", c.key, c.value, err)
		} else if s := load(t, out); !c.check(s) {
			t.Errorf("%s = %v: got %+v", c.key, c.value, s)
		}
	}
}

func TestBadTensors(t *testing.T) {
	for want, edit := range map[string]func(info *gguf.TensorInfo){
		`tensor "blk.2.ffn_gate_inp.weight" is f16; expected f32`:                         func(x *gguf.TensorInfo) { x.Type = quant.F16 },
		`tensor "blk.2.ffn_gate_inp.weight" is missing`:                                   func(x *gguf.TensorInfo) { x.Name = "other" },
		`tensor "blk.2.ffn_gate_inp.weight" has dimensions [96 17]; expected [96 16 1]`:   func(x *gguf.TensorInfo) { x.Dims = []uint64{96, 17} },
		`tensor "blk.2.ffn_gate_inp.weight" has dimensions [48 16 2]; expected [96 16 1]`: func(x *gguf.TensorInfo) { x.Dims = []uint64{48, 16, 2} },
	} {
		path := edited(t, reference+"glm47-tiny-Q4_0.gguf", func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
			for i := range tensors {
				if tensors[i].Name == "blk.2.ffn_gate_inp.weight" {
					edit(&tensors[i])
				}
			}
			return meta, tensors
		})
		if err := writePath(path, filepath.Join(t.TempDir(), "x.yaml"), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}
}

// TestStrangers: a tensor that no kernel reads would be missed.
func TestStrangers(t *testing.T) {
	for name, refused := range map[string]bool{"blk.1.attn_q.scale": true, "rope_freqs.weight": true, "rope_factors_long.weight": true,
		"blk.4.nextn.enorm.weight": false, "blk.0.attn_kv_b.weight": false, "blk.3.unheard_of": true, "blk.x.y": true} {
		path := edited(t, reference+"glm47-tiny-Q4_0.gguf", func(meta []gguf.KV, tensors []gguf.TensorInfo) ([]gguf.KV, []gguf.TensorInfo) {
			return meta, append(tensors, gguf.TensorInfo{Name: name, Type: quant.F32, Dims: []uint64{4}})
		})
		err := writePath(path, filepath.Join(t.TempDir(), "x.yaml"), false)
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOverwrite(t *testing.T) {
	model := reference + "glm47-tiny-Q4_0.gguf"
	out := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(out, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writePath(model, out, false); err == nil || !strings.Contains(err.Error(), "-f overwrites it") {
		t.Errorf("got %v", err)
	}
	if data, err := os.ReadFile(out); err != nil || string(data) != "mine" {
		t.Errorf("the spec was touched: %q, %v", data, err)
	}
	if err := writePath(model, out, true); err != nil {
		t.Error(err)
	}
	load(t, out)
	if err := writePath(filepath.Join(t.TempDir(), "none.gguf"), out, true); err == nil {
		t.Error("a missing model is accepted")
	}
	entries, err := os.ReadDir(filepath.Dir(out))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestProfileName(t *testing.T) {
	for path, want := range map[string]string{
		"a/GLM-4.7-Flash-UD-Q4_K_XL.gguf": "GLM-4.7-Flash-UD-Q4_K_XL", "_x y.gguf": "x-y", "ü.gguf": "file", ".gguf": "model",
	} {
		if got := profileName(path); got != want {
			t.Errorf("profileName(%q) = %q; want %q", path, got, want)
		}
	}
}

// TestActivations holds that the spec asks for the bundles that it was told to.
func TestActivations(t *testing.T) {
	for _, want := range [][]string{{"f32"}, {"f16"}, {"f32", "f16"}} {
		out := filepath.Join(t.TempDir(), "x.yaml")
		if err := writePath(reference+"youtu-tiny-F32.gguf", out, false, want...); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range load(t, out).Variants() {
			got = append(got, v.Activations)
		}
		if !slices.Equal(got, want) {
			t.Errorf("activations %v; want %v", got, want)
		}
	}
}

func TestName(t *testing.T) {
	for file, want := range map[string]string{
		"/m/GLM-4.7-Flash-Q4_K_M.gguf": "glm_4_7_flash_q4_k_m",
		"7b.gguf":                      "m7b",
		"模型.gguf":                      "m",
		"a-00001-of-00002.gguf":        "a",
	} {
		if got := Name(file); got != want {
			t.Errorf("Name(%q) = %q; want %q", file, got, want)
		}
	}
}

// TestSchemaLine: a spec names the schema where there is one.
func TestSchemaLine(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"specs/more", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "specs/mla.schema.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"specs/x.yaml":      "# yaml-language-server: $schema=mla.schema.json\n\n# Written by mlagen init from youtu-tiny-F32.gguf.\nversion: 1\n",
		"specs/more/x.yaml": "# yaml-language-server: $schema=../mla.schema.json\n\n",
		"elsewhere/x.yaml":  "# Written by mlagen init",
	} {
		if err := writePath(reference+"youtu-tiny-F32.gguf", filepath.Join(root, path), false); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(root, path)); err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s begins with %.120q, %v", path, text, err)
		}
	}
}
