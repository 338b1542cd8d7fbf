package msl

import (
	"io/fs"
	"regexp"
	"sync"

	"mla/gen/msl/reserved"
	"mla/runtime/plan"
	"mla/templates"
)

var (
	identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	notCode    = regexp.MustCompile(`(?s)\{\{.*?\}\}|//[^\n]*`)
)

// templateWords has every identifier that the templates use.
var templateWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for _, text := range templateTexts() {
		for _, w := range identifier.FindAllString(notCode.ReplaceAllString(text, " "), -1) {
			words[w] = true
		}
	}
	return words
})

// taken reports whether a name is a word of the language or of the templates.
func taken(name string) bool { return reserved.Anywhere().Has(name) || templateWords()[name] }

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

// argumentNames returns the slots' names as the kernel's parameters. A name that would be a word of the
// language, or hide a name of the templates, gets an underscore.
func argumentNames(k *plan.Kernel) []string {
	names := make([]string, len(k.Slots))
	for i, s := range k.Slots {
		names[i] = s.Name
		if taken(s.Name) {
			names[i] += "_"
		}
	}
	return names
}
