package explain

import (
	"fmt"
	"io"
	"strings"
)

// Print writes explanations as text.
func Print(w io.Writer, list []Kernel) error {
	var b strings.Builder
	for i, k := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", k.Name)
		line := func(head, text string) {
			if text != "" {
				fmt.Fprintf(&b, "  %-8s %s\n", head, text)
			}
		}
		line("runs", fmt.Sprintf("%s a replay of %s, %s", times(len(k.Layers)), rows(k.Width), layers(k.Layers)))
		line("does", k.Does)
		for i, p := range k.Passes {
			line(map[bool]string{true: "because"}[i == 0], p)
		}
		for i, n := range k.Notes {
			line(map[bool]string{true: "notes"}[i == 0], n)
		}
		line("shape", k.Shape)
		waits := "for nothing"
		if len(k.Waits) > 0 {
			waits = strings.Join(k.Waits, "; ")
		}
		line("waits", waits)
		line("types", k.Types)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func rows(width int) string {
	if width == 1 {
		return "one row"
	}
	return fmt.Sprintf("up to %d rows", width)
}

// layers lists the layers of a kernel, for people.
func layers(list []int) string {
	if list[0] < 0 {
		return "outside the layers"
	}
	text, from := "", list[0]
	for i, n := range list {
		if i+1 < len(list) && list[i+1] == n+1 {
			continue
		}
		if text != "" {
			text += ", "
		}
		if text += fmt.Sprint(from); n > from {
			text += fmt.Sprintf("-%d", n)
		}
		if i+1 < len(list) {
			from = list[i+1]
		}
	}
	return "in the layers " + text
}
