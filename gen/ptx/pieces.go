package ptx

import (
	"errors"
	"fmt"
	"strings"

	"mla/runtime/plan"
)

// Key is what a bundle's PTX depends on, but for the version of clang: the sha256 of
// translated source, headers and flags, hexadecimal.
func Key(b *plan.Bundle) (string, error) {
	return keyOf(b, func(text string) string { return text })
}

// CodeKey is Key of the code alone: it stays the same when only comments, empty lines or
// white space around words change. Such a change leaves the instructions as they are.
func CodeKey(b *plan.Bundle) (string, error) { return keyOf(b, code) }

func keyOf(b *plan.Bundle, form func(text string) string) (string, error) {
	cuda, err := translate(b)
	if err != nil {
		return "", err
	}
	return given(cuda, form)
}

// code is a text without line comments, empty lines, the numbers of lines, and needless white
// space. A line with quotes or with a comment of several lines stays as it is, because there
// // may begin something else.
func code(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if !strings.ContainsAny(bare, `"'`) && !strings.Contains(bare, "/*") && !strings.Contains(bare, "*/") {
			bare, _, _ = strings.Cut(bare, "//")
			bare = strings.Join(strings.Fields(bare), " ")
		}
		if bare != "" && !strings.HasPrefix(bare, "#line ") {
			kept.WriteString(bare + "\n")
		}
	}
	return kept.String()
}

// Clang is the version of the compiler that made a file, as its head says it.
func Clang(file []byte) (string, error) {
	text, err := Text(file)
	if err != nil {
		return "", err
	}
	h, err := parseHead(text)
	return h.clang, err
}

// Join makes one text of the texts of several files, with the entries of all. What
// stands before the first entry, the version and the target, must be the same: files
// with more in common than that, as a table, cannot be joined.
func Join(texts []string) (string, error) {
	var joined strings.Builder
	shared := ""
	for i, text := range texts {
		at := firstEntry(text)
		if at < 0 {
			return "", errors.New("PTX without an entry")
		}
		switch head := statements(text[:at]); {
		case i == 0:
			shared = head
			joined.WriteString(text)
		case head != shared:
			return "", fmt.Errorf("PTX with other declarations: %q and %q", head, shared)
		default:
			joined.WriteString("\n" + text[at:])
		}
	}
	return joined.String(), nil
}

// statements is PTX without its comments and empty lines.
func statements(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "//") {
			kept.WriteString(trimmed + "\n")
		}
	}
	return kept.String()
}
