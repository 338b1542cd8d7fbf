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
	cuda, err := translate(b)
	if err != nil {
		return "", err
	}
	h, err := headOf(b, cuda)
	if err != nil {
		return "", err
	}
	return h.translation, nil
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
