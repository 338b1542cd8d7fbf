package tokenizer

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/runtime/gguf"
)

// writeVocab writes a file with the given metadata and no tensors.
func writeVocab(t *testing.T, meta []gguf.KV) *gguf.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vocab.gguf")
	w, err := gguf.NewWriter(path, meta, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func testMeta() []gguf.KV {
	return []gguf.KV{
		{Key: "tokenizer.ggml.model", Value: gguf.String("gpt2")},
		{Key: "tokenizer.ggml.pre", Value: gguf.String("youtu")},
		{Key: "tokenizer.ggml.tokens", Value: gguf.Strings([]string{"a", "b", "ab", "<s>"})},
		{Key: "tokenizer.ggml.token_type", Value: gguf.Int32s([]int32{1, 1, 1, 3})},
		{Key: "tokenizer.ggml.merges", Value: gguf.Strings([]string{"a b"})},
		{Key: "tokenizer.ggml.bos_token_id", Value: gguf.Uint32(3)},
		{Key: "tokenizer.ggml.add_bos_token", Value: gguf.Bool(true)},
		{Key: "tokenizer.chat_template", Value: gguf.String("{{ x }}")},
	}
}

func TestFromGGUF(t *testing.T) {
	tok, err := FromGGUF(writeVocab(t, testMeta()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Encode("abab", EncodeOptions{AddBOS: true}), []int32{3, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("Encode = %v, expected %v", got, want)
	}
	if tok.BOS() != 3 || tok.EOS() != -1 || tok.ChatTemplate() != "{{ x }}" || !tok.AddsBOS() {
		t.Errorf("bos %d, eos %d, template %q, adds bos %v", tok.BOS(), tok.EOS(), tok.ChatTemplate(), tok.AddsBOS())
	}
}

// TestFromGGUFNamesTheKey removes or spoils one key at a time.
func TestFromGGUFNamesTheKey(t *testing.T) {
	for _, key := range []string{
		"tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens", "tokenizer.ggml.merges",
	} {
		meta := slices.DeleteFunc(testMeta(), func(kv gguf.KV) bool { return kv.Key == key })
		if _, err := FromGGUF(writeVocab(t, meta)); err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("without %s: error %v", key, err)
		}
	}
	for i, kv := range testMeta() {
		meta := testMeta()
		meta[i].Value = gguf.Float32(1) // no key has this type
		if _, err := FromGGUF(writeVocab(t, meta)); err == nil || !strings.Contains(err.Error(), kv.Key) {
			t.Errorf("%s as a float: error %v", kv.Key, err)
		}
	}
	for _, c := range []struct {
		key   string
		value gguf.Value
	}{
		{"tokenizer.ggml.bos_token_id", gguf.Uint64(1 << 63)},
		{"tokenizer.ggml.bos_token_id", gguf.Uint32(4)},
	} {
		meta := testMeta()
		meta[slices.IndexFunc(meta, func(kv gguf.KV) bool { return kv.Key == c.key })].Value = c.value
		if _, err := FromGGUF(writeVocab(t, meta)); err == nil || !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s = %v: error %v", c.key, c.value, err)
		}
	}
}
