package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mla/runtime/gguf"
)

// load opens the tokeniser of a reference file.
func load(t testing.TB, path string) *Tokenizer {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok, err := FromGGUF(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return tok
}

func loadDeepSeek(t testing.TB) *Tokenizer { return load(t, "testdata/deepseek-llm.gguf") }

func loadMini(t testing.TB, name string) *Tokenizer {
	return load(t, filepath.Join("../../../testdata/reference", name+".gguf"))
}

// refCase is a text and its tokens: as llama.cpp cuts it and, where that only comes
// near the model's own way, as the model's tokeniser does.
type refCase struct {
	Text     string  `json:"text"`
	IDs      []int32 `json:"ids"`
	ModelIDs []int32 `json:"model_ids"`
}

func (c *refCase) want() []int32 {
	if c.ModelIDs != nil {
		return c.ModelIDs
	}
	return c.IDs
}

// loadMore builds a tokeniser of one of the vocabularies in testdata/more.
func loadMore(t testing.TB, file, pre string) *Tokenizer {
	t.Helper()
	data, err := os.ReadFile("testdata/more/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var raw struct {
		Model          string
		Tokens, Merges []string
		Scores         []float32
		Types, Control []int32
		BOS, EOS       int
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	v := NoTokens()
	v.Model, v.Pre, v.Tokens, v.Merges, v.Scores, v.Types = raw.Model, pre, raw.Tokens, raw.Merges, raw.Scores, raw.Types
	v.BOS, v.EOS, v.AddSpacePrefix = raw.BOS, raw.EOS, raw.Model == "llama"
	if v.Types == nil {
		v.Types = slices.Repeat([]int32{TypeNormal}, len(v.Tokens))
		for _, id := range raw.Control {
			v.Types[id] = TypeControl
		}
	}
	return mustNew(t, v)
}

// deepSeekCases reads the pair of files that llama.cpp keeps for its vocabulary
// tests: texts with a separator line, and one line of ids for each.
func deepSeekCases(t testing.TB) (cases []refCase) {
	t.Helper()
	in, err := os.ReadFile("testdata/deepseek-llm.inp")
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile("testdata/deepseek-llm.out")
	if err != nil {
		t.Fatal(err)
	}
	texts := strings.Split(string(in), "\n__ggml_vocab_test__\n")
	texts = texts[:len(texts)-1] // every text ends in a separator
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(texts) != len(lines) {
		t.Fatalf("%d texts, %d lines of ids", len(texts), len(lines))
	}
	for i, text := range texts {
		ids := []int32{}
		for _, field := range strings.Fields(lines[i]) {
			id, err := strconv.ParseInt(field, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, int32(id))
		}
		cases = append(cases, refCase{Text: text, IDs: ids})
	}
	return cases
}

func jsonCases(t testing.TB, path string) []refCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []refCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// TestModels opens the tokenisers of small files of further models.
func TestModels(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/models/*.gguf")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	const text = "Once upon a time, in 1234 words"
	for _, file := range files {
		tok := load(t, file)
		ids := tok.Encode(text, EncodeOptions{AddBOS: true})
		if got := tok.Decode(ids); got != text || tok.AddsBOS() != (ids[0] == tok.BOS()) || len(tok.EOG()) == 0 {
			t.Errorf("%s: %q of %d", file, got, ids)
		}
	}
}

// TestReferenceCases compares with the ids that llama.cpp gives for the same
// vocabularies (no BOS, special tokens not parsed).
func TestReferenceCases(t *testing.T) {
	type suite struct {
		name  string
		tok   *Tokenizer
		cases []refCase
		count int
	}
	suites := []suite{
		{"deepseek-llm", loadDeepSeek(t), deepSeekCases(t), 46},
		{"youtu", loadMini(t, "youtu-mini-Q4_0"), jsonCases(t, "testdata/youtu.cases.json"), 55},
		{"glm4", loadMini(t, "glm47-mini-Q4_K_M"), jsonCases(t, "testdata/glm4.cases.json"), 55},
		{"spm", loadMore(t, "vocab-spm.json", ""), jsonCases(t, "testdata/more/spm.cases.json"), 55},
	}
	for _, pre := range []string{"deepseek-v3", "gigachat", "kanana2", "kimi-k2", "qwen2", "tekken"} {
		suites = append(suites, suite{pre, loadMore(t, "vocab-bpe.json", pre), jsonCases(t, "testdata/more/"+pre+".cases.json"), 55})
	}
	for _, suite := range suites {
		if len(suite.cases) != suite.count {
			t.Errorf("%s: %d cases, expected %d", suite.name, len(suite.cases), suite.count)
		}
		passed := 0
		for _, c := range suite.cases {
			got := suite.tok.Encode(c.Text, EncodeOptions{})
			if !slices.Equal(got, c.want()) {
				t.Errorf("%s: Encode(%q)\n got %v\nwant %v", suite.name, c.Text, got, c.want())
				continue
			}
			if back := suite.tok.Decode(got); back != c.Text {
				t.Errorf("%s: Decode(Encode(%q)) = %q", suite.name, c.Text, back)
				continue
			}
			passed++
		}
		t.Logf("%s: %d of %d cases", suite.name, passed, len(suite.cases))
	}
}
