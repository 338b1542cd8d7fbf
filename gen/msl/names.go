package msl

import (
	"io/fs"
	"regexp"
	"strings"
	"sync"

	"mla/runtime/plan"
	"mla/templates"
)

var (
	identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	notCode    = regexp.MustCompile(`(?s)\{\{.*?\}\}|//[^\n]*`)
)

// languageWords are words of MSL that the templates do not happen to contain.
const languageWords = `alignas and asm auto bfloat bool break case catch class compl const_cast continue decltype default delete do
	double dynamic_cast else enum explicit export extern false friend goto if int long mutable namespace new noexcept not nullptr
	operator or private protected public register reinterpret_cast short signed sizeof static_assert static_cast switch this
	thread_local throw try typeid union unsigned using virtual volatile while xor vertex fragment metal main half atomic_uint
	packed_float4 float2 float3 float4 half2 half3 half4 size_t ptrdiff_t visible coherent sampler texture2d`

// reserved are the words that an argument may not have as its name: everything
// that the templates declare or call.
var reserved = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(languageWords) {
		words[w] = true
	}
	for _, text := range templateTexts() {
		for _, w := range identifier.FindAllString(notCode.ReplaceAllString(text, " "), -1) {
			words[w] = true
		}
	}
	return words
})

// templateTexts returns the text of every template.
func templateTexts() []string {
	var texts []string
	err := fs.WalkDir(templates.MSL, "msl", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(templates.MSL, path)
		texts = append(texts, string(text))
		return err
	})
	if err != nil {
		panic("msl: the embedded templates cannot be read: " + err.Error())
	}
	return texts
}

// argumentNames are the slots' names as the kernel's parameters; one that would
// hide something of the templates gets an underscore.
func argumentNames(k *plan.Kernel) []string {
	names := make([]string, len(k.Slots))
	for i, s := range k.Slots {
		names[i] = s.Name
		if reserved()[s.Name] {
			names[i] += "_"
		}
	}
	return names
}

// isIdentifier says whether s can name something in MSL.
func isIdentifier(s string) bool { return s != "" && identifier.FindString(s) == s }
