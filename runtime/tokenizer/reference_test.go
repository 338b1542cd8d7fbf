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
	return load(t, filepath.Join("../../testdata/reference", name+".gguf"))
}

type refCase struct {
	Text string  `json:"text"`
	IDs  []int32 `json:"ids"`
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
		cases = append(cases, refCase{text, ids})
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

// TestReferenceCases compares with the ids that llama.cpp gives for the same
// vocabularies (no BOS, special tokens not parsed).
func TestReferenceCases(t *testing.T) {
	for _, suite := range []struct {
		name  string
		tok   *Tokenizer
		cases []refCase
		count int
	}{
		{"deepseek-llm", loadDeepSeek(t), deepSeekCases(t), 46},
		{"youtu", loadMini(t, "youtu-mini-Q4_0"), jsonCases(t, "testdata/youtu.cases.json"), 55},
		{"glm4", loadMini(t, "glm47-mini-Q4_K_M"), jsonCases(t, "testdata/glm4.cases.json"), 55},
	} {
		if len(suite.cases) != suite.count {
			t.Errorf("%s: %d cases, expected %d", suite.name, len(suite.cases), suite.count)
		}
		passed := 0
		for _, c := range suite.cases {
			got := suite.tok.Encode(c.Text, EncodeOptions{})
			if !slices.Equal(got, c.IDs) {
				t.Errorf("%s: Encode(%q)\n got %v\nwant %v", suite.name, c.Text, got, c.IDs)
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
