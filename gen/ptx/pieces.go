package ptx

import (
	"errors"
	"fmt"
	"strings"

	"mla/runtime/plan"
)

// Key returns the SHA-256, hexadecimal, of everything that a bundle's PTX depends on except the version of
// clang: translated source, headers and flags.
func Key(b *plan.Bundle) (string, error) {
	return keyOf(b, func(text string) string { return text })
}

// CodeKey is Key without comments, empty lines and white space around words, which do not change the
// instructions.
func CodeKey(b *plan.Bundle) (string, error) { return keyOf(b, code) }

func keyOf(b *plan.Bundle, form func(text string) string) (string, error) {
	cuda, err := translate(b)
	if err != nil {
		return "", err
	}
	return given(cuda, form)
}

// code returns text without line comments, empty lines, #line directives and needless white space. Lines with
// quotes, and lines of block comments, stay as they are, because // may not begin a comment there.
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

// Clang returns the version of the compiler that made a file, which its head says.
func Clang(file []byte) (string, error) {
	text, err := Text(file)
	if err != nil {
		return "", err
	}
	h, err := parseHead(text)
	return h.clang, err
}

// Join returns one PTX text with the entries of several. The texts before the first entry, with version and
// target, must be equal. Texts with other declarations outside entries, such as tables, cannot be joined.
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

// statements returns PTX without comments and empty lines.
func statements(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "//") {
			kept.WriteString(trimmed + "\n")
		}
	}
	return kept.String()
}
