package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"mla/runtime/gguf"
	"mla/runtime/gguf/hparams"
	"mla/runtime/plan"
)

const specDir = "../../specs"

func readSchema(t *testing.T) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(specDir, "mla.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mla.schema.json", readSchema(t)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mla.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// yamlValue decodes YAML into the values that a JSON schema validator takes.
func yamlValue(t *testing.T, text string) (v any) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	daysAreText(&doc)
	if err := doc.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// daysAreText makes dates strings, as they are in YAML 1.2, whose types JSON has.
func daysAreText(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, c := range n.Content {
		daysAreText(c)
	}
}

func specFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(specDir, "*.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d specs, %v", len(files), err)
	}
	more, err := filepath.Glob(filepath.Join(specDir, "more", "*.yaml"))
	if err != nil || len(more) < 8 {
		t.Fatalf("%d more specs, %v", len(more), err)
	}
	return append(files, more...)
}

// TestSpecsFitSchema holds that parser and schema accept every shipped spec.
func TestSpecsFitSchema(t *testing.T) {
	schema := compileSchema(t)
	for _, path := range append(specFiles(t), "testdata/ok.yaml") {
		if _, err := Load(path); err != nil {
			t.Errorf("%v", err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(yamlValue(t, string(data))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if !strings.HasPrefix(path, specDir) {
			continue
		}
		relative, err := filepath.Rel(filepath.Dir(path), filepath.Join(specDir, "mla.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		if head := "# yaml-language-server: $schema=" + filepath.ToSlash(relative) + "\n"; !strings.HasPrefix(string(data), head) {
			t.Errorf("%s does not begin with %q", path, head)
		}
	}
}

// TestSchemaRejects holds that the schema sees the mistakes that it can express
// and that the parser sees them too.
func TestSchemaRejects(t *testing.T) {
	schema := compileSchema(t)
	for old, bad := range map[string]string{
		"vocab_size: 512":          "vocab_sise: 512",
		"hidden_size: 256":         "hidden_size: wide",
		"kv_lora_rank: 256":        "kv_lora_rank: 250",
		"qk_rope_head_dim: 32":     "qk_rope_head_dim: 36",
		"tokenizer: glm4":          "tokenizer: llama",
		"type: yarn":               "type: linear",
		"chat_template: none":      "chat_template: none\nactivations: [f32, f32]",
		"scoring_func: sigmoid":    "scoring_func: tanh",
		"- q4_k_m":                 "- q4_k_x",
		"- Q4_0 imatrix":           "- Q4_0 imatrx",
		"stock: q8_0":              "stock: q9_0",
		"- name: mine":             "- imatrix: true",
		"lm_head: {simdgroups":     "lm_head: {rows_per_simdgroup: 3, simdgroups",
		"lm_head: {simdgroups: 2}": "lm_head: {simdgroup: 2}",
		"tuning:":                  "tuning:\n  devices: {amd: {}}",
		"tuning:\n":                "tuning:\n  devices: {nvidia: {devices: {}}}\n",
	} {
		text := strings.Replace(readOK(t), old, bad, 1)
		if schema.Validate(yamlValue(t, text)) == nil {
			t.Errorf("schema accepts %q", bad)
		}
		if _, err := Parse("x.yaml", []byte(text)); err == nil {
			t.Errorf("parser accepts %q", bad)
		}
	}
}

// TestSchemaKeys holds that schema and parser have the same keys, and agree on
// which of them may be left out.
func TestSchemaKeys(t *testing.T) {
	schema := readSchema(t)
	for pointer, fields := range map[string][]field{
		"":                                     rootFields(&Spec{}),
		"properties/model":                     modelFields(&Model{}),
		"properties/temperature":               temperatureFields(&plan.Temperature{}),
		"properties/rope":                      ropeFields(&Rope{}),
		"properties/rope/properties/scaling":   yarnFields(&Yarn{}),
		"properties/moe":                       moeFields(&MoE{}, &hparams.HybridExperts{}),
		"properties/linear_attn_config":        linearFields(&Hybrid{}),
		"properties/tuning":                    tuningsFields(&tunings{}),
		"properties/tuning/properties/devices": classFields(&tunings{}),
		"$defs/tuning":                         classTuningFields(&classTuning{}),
		"$defs/attention":                      attentionFields(&Attention{}, &Found{}),
		"$defs/shape":                          kernelFields(&KernelShape{}),
		"$defs/profile":                        quantFields(&Quant{}, nil, nil),
	} {
		object := at(t, schema, pointer)
		var got, want, required, must []string
		for key, value := range object["properties"].(map[string]any) {
			got = append(got, key)
			if p := value.(map[string]any); p["description"] == nil && p["$ref"] == nil {
				t.Errorf("%s/%s has no description", pointer, key)
			}
		}
		for _, f := range fields {
			want = append(want, f.key)
			if !f.optional {
				must = append(must, f.key)
			}
		}
		list, _ := object["required"].([]any)
		for _, key := range list {
			required = append(required, key.(string))
		}
		for _, l := range [][]string{got, want, required, must} {
			slices.Sort(l)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: schema has the keys %v; the parser has %v", pointer, got, want)
		}
		if !slices.Equal(required, must) {
			t.Errorf("%q: schema requires %v; the parser requires %v", pointer, required, must)
		}
		if object["additionalProperties"] != false {
			t.Errorf("%q allows other keys", pointer)
		}
	}
}

func TestSchemaNames(t *testing.T) {
	schema := readSchema(t)
	for pointer, want := range map[string][]string{
		"properties/architecture":                gguf.Architectures(),
		"properties/tokenizer":                   Tokenizers,
		"properties/chat_template":               ChatTemplates,
		"$defs/activations":                      Activations,
		"properties/moe/properties/scoring_func": hparams.Parameters(&MoE{}, "scoring_func")[0].Names,
		"$defs/profile/properties/stock":         Stocks,
	} {
		var got []string
		for _, v := range at(t, schema, pointer)["enum"].([]any) {
			got = append(got, v.(string))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: schema has %v; the parser has %v", pointer, got, want)
		}
	}
}

// TestSchemaVersion: the schema is of the latest version.
func TestSchemaVersion(t *testing.T) {
	if got := at(t, readSchema(t), "properties/version")["const"]; got != float64(Version()) {
		t.Errorf("the schema is of version %v; the parser reads %d", got, Version())
	}
}

func at(t *testing.T, schema map[string]any, pointer string) map[string]any {
	t.Helper()
	for _, key := range strings.Split(pointer, "/") {
		if key == "" {
			continue
		}
		next, ok := schema[key].(map[string]any)
		if !ok {
			t.Fatalf("the schema lacks %s", pointer)
		}
		schema = next
	}
	return schema
}

// TestSchemaRanges: the schema has the ranges of hyper-parameters that their tags say.
func TestSchemaRanges(t *testing.T) {
	schema := readSchema(t)
	for pointer, of := range map[string]any{"properties/model": &Dims{}, "properties/moe": &MoE{}} {
		for _, p := range hparams.Parameters(of) {
			if p.Lo == p.Hi {
				continue // no number
			}
			value := at(t, schema, pointer+"/properties/"+p.Name)
			if value["minimum"] != p.Lo || value["maximum"] != p.Hi {
				t.Errorf("%s: the schema says %v to %v, the tag %g to %g", p.Name, value["minimum"], value["maximum"], p.Lo, p.Hi)
			}
		}
	}
}
