package gguf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PreKey is the key that says how text is split before byte pair encoding.
const PreKey = "tokenizer.ggml.pre"

// preTokenizers maps the values of PreKey to pre-tokenisers. Some have several names, as in llama.cpp.
var preTokenizers = map[string]string{
	"bailingmoe":   "bailingmoe2",
	"bailingmoe2":  "bailingmoe2",
	"chatglm-bpe":  "glm4",
	"deepseek-llm": "deepseek-llm",
	"deepseek-v3":  "deepseek-v3",
	"gigachat":     "gigachat",
	"glm4":         "glm4",
	"gpt-4o":       "kanana2",
	"joyai-llm":    "deepseek-v3",
	"kanana2":      "kanana2",
	"kimi-k2":      "kimi-k2",
	"llada-moe":    "bailingmoe2",
	"llama4":       "kanana2",
	"qwen2":        "qwen2",
	"tekken":       "tekken",
	"youtu":        "youtu",
}

// PreTokenizers lists the distinct pre-tokenisers.
func PreTokenizers() []string {
	return slices.Compact(slices.Sorted(maps.Values(preTokenizers)))
}

// PreTokenizer returns the pre-tokeniser that a value of PreKey names; "" stands for a file without the key.
// The error lists all names.
func PreTokenizer(value string) (string, error) {
	if name, ok := preTokenizers[value]; ok {
		return name, nil
	}
	found := fmt.Sprintf("is %.64q, which is no pre-tokeniser that this program knows", value)
	switch value {
	case "":
		found = "is missing"
	case "default":
		found = `is "default", which names no pre-tokeniser`
	}
	return "", fmt.Errorf("key %q %s; -pre NAME names the one that the model was trained with: %s",
		PreKey, found, strings.Join(slices.Sorted(maps.Keys(preTokenizers)), ", "))
}
