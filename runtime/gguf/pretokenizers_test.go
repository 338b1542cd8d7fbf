package gguf

import (
	"slices"
	"testing"
)

// TestPreTokenizer checks that names and aliases are found, and that the error for other names has the flag
// that helps.
func TestPreTokenizer(t *testing.T) {
	for value, want := range map[string]string{"glm4": "glm4", "chatglm-bpe": "glm4", "joyai-llm": "deepseek-v3", "llama4": "kanana2",
		"bailingmoe": "bailingmoe2", "llada-moe": "bailingmoe2"} {
		if got, err := PreTokenizer(value); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", value, got, err, want)
		}
	}
	for value, want := range map[string]string{"": `"tokenizer.ggml.pre" is missing`, "default": "names no pre-tokeniser", "deepseek-v3.1": `is "deepseek-v3.1"`} {
		_, err := PreTokenizer(value)
		wantError(t, err, want, "-pre NAME", "chatglm-bpe, deepseek-llm", "joyai-llm")
	}
	if list := PreTokenizers(); !slices.IsSorted(list) || len(list) != 10 {
		t.Errorf("%q", list)
	}
}

// TestSet checks that a key which was set is found like a key of the file.
func TestSet(t *testing.T) {
	f := open(t, smallModel().write(t))
	before := len(f.Meta)
	f.Set(PreKey, String("glm4"))
	f.Set(PreKey, String("youtu"))
	if got, ok, err := f.String(PreKey); got != "youtu" || !ok || err != nil || len(f.Meta) != before+1 {
		t.Errorf("%q, %v, %v; %d keys, before %d", got, ok, err, len(f.Meta), before)
	}
	f.Set("deepseek2.block_count", Uint32(2))
	if h, err := ReadHParams(f); err != nil || h.NumHiddenLayers != 2 || h.TokenizerPre != "youtu" {
		t.Errorf("%+v, %v", h, err)
	}
}
