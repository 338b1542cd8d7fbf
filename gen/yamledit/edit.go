// Package yamledit changes single values of a YAML text in place, and keeps comments and layout.
package yamledit

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Editor edits Text. It handles the common layouts and refuses others. The caller should parse the result and
// compare it.
type Editor struct{ Text string }

var errLayout = errors.New("unusual YAML")

func (e *Editor) root() (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(e.Text), &doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode {
		return nil, errLayout
	}
	return doc.Content[0], nil
}

// pair returns the key node and the value at a key of a mapping; nil, nil if it has none.
func pair(n *yaml.Node, key string) (k, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// Find returns the value at path, nil if there is none.
func (e *Editor) Find(path []string) (*yaml.Node, error) {
	n, err := e.root()
	for i := 0; err == nil && i < len(path) && n != nil; i++ {
		_, n = pair(n, path[i])
	}
	return n, err
}

// offset returns where a node begins. YAML columns count characters.
func (e *Editor) offset(n *yaml.Node) (int, error) {
	at, ok := e.lineStart(n.Line)
	for i := 1; ok && i < n.Column; i++ {
		_, size := utf8.DecodeRuneInString(e.Text[at:])
		ok = size > 0
		at += size
	}
	if !ok {
		return 0, errLayout
	}
	return at, nil
}

// lineStart returns where a line begins, counted from 1. The line after the last begins at the end.
func (e *Editor) lineStart(line int) (at int, ok bool) {
	for ; line > 1; line-- {
		n := strings.IndexByte(e.Text[at:], '\n')
		if n < 0 {
			return len(e.Text), line == 2
		}
		at += n + 1
	}
	return at, true
}

// splice replaces text[from:to].
func (e *Editor) splice(from, to int, by string) { e.Text = e.Text[:from] + by + e.Text[to:] }

// newline returns the line end of the text.
func (e *Editor) newline() string {
	if strings.Contains(e.Text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// insertLines puts lines before a line.
func (e *Editor) insertLines(line int, lines []string) error {
	at, ok := e.lineStart(line)
	if !ok {
		return errLayout
	}
	end := e.newline()
	if at == len(e.Text) && e.Text != "" && !strings.HasSuffix(e.Text, "\n") {
		e.Text += end
		at = len(e.Text)
	}
	e.splice(at, at, strings.Join(lines, end)+end)
	return nil
}

// Set sets the value at path; value is YAML on one line.
func (e *Editor) Set(path []string, value string) error {
	n, err := e.root()
	if err != nil {
		return err
	}
	root := n
	for i, key := range path {
		if n.Kind != yaml.MappingNode {
			return errLayout
		}
		k, v := pair(n, key)
		last := i == len(path)-1
		switch {
		case v == nil:
			return e.insert(n, n == root, path[i:], value)
		case isNull(v):
			return e.fill(n, k, v, path[i+1:], value)
		case last && v.Kind == yaml.ScalarNode:
			return e.replace(v, value)
		}
		n = v
	}
	return errLayout
}

// replace changes a plain scalar.
func (e *Editor) replace(v *yaml.Node, value string) error {
	at, err := e.offset(v)
	if err != nil || v.Style != 0 || v.Value == "" || !strings.HasPrefix(e.Text[at:], v.Value) {
		return errors.Join(err, errLayout)
	}
	e.splice(at, at+len(v.Value), value)
	return nil
}

// insert adds path: value to a mapping that lacks its first key.
func (e *Editor) insert(n *yaml.Node, root bool, path []string, value string) error {
	if n.Style&yaml.FlowStyle != 0 {
		at, err := e.offset(n)
		if err != nil || !strings.HasPrefix(e.Text[at:], "{") {
			return errors.Join(err, errLayout)
		}
		if len(n.Content) > 0 {
			return e.inserted(at+1, flowPath(path, value)+", ")
		}
		return e.inserted(at+1, flowPath(path, value))
	}
	lines := blockPath(strings.Repeat(" ", n.Column-1), path, value)
	if root {
		return e.insertLines(strings.Count(strings.TrimSuffix(e.Text, "\n"), "\n")+2, append([]string{""}, lines...))
	}
	line, err := e.lastLine(n)
	if err != nil {
		return err
	}
	return e.insertLines(line+1, lines)
}

func (e *Editor) inserted(at int, text string) error {
	e.splice(at, at, text)
	return nil
}

// fill gives a value to a key whose value is missing or null.
func (e *Editor) fill(n, k, v *yaml.Node, path []string, value string) error {
	if v.Value != "" {
		by := ""
		if n.Style&yaml.FlowStyle != 0 || len(path) == 0 {
			by = flowPath(path, value)
		}
		if err := e.replace(v, by); err != nil || by != "" {
			return err
		}
	}
	if n.Style&yaml.FlowStyle != 0 || len(path) == 0 {
		return errLayout
	}
	return e.insertLines(k.Line+1, blockPath(strings.Repeat(" ", k.Column+1), path, value))
}

// flowPath returns path: value on one line; without a path, value.
func flowPath(path []string, value string) string {
	if len(path) == 0 {
		return value
	}
	for _, key := range slices.Backward(path[1:]) {
		value = "{" + key + ": " + value + "}"
	}
	return path[0] + ": " + value
}

// blockPath returns path: value with one line for every key.
func blockPath(indent string, path []string, value string) []string {
	var lines []string
	for i, key := range path {
		lines = append(lines, indent+key+":")
		if i == len(path)-1 {
			lines[i] += " " + value
		}
		indent += "  "
	}
	return lines
}

// lastLine returns the line where a node ends. It handles scalars on one line, and mappings.
func (e *Editor) lastLine(n *yaml.Node) (int, error) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0:
		return n.Line, nil
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0:
		_, end, err := e.braces(n)
		if err != nil {
			return 0, err
		}
		return strings.Count(e.Text[:end], "\n") + 1, nil
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		last := n.Content[len(n.Content)-1]
		if isNull(last) && last.Value == "" {
			last = n.Content[len(n.Content)-2] // the key, because an empty value has no place of its own
		}
		return e.lastLine(last)
	}
	return 0, errLayout
}

// braces returns the range of a flow mapping, including its braces. The mapping may have plain values, other
// flow mappings and comments.
func (e *Editor) braces(n *yaml.Node) (from, to int, err error) {
	from, err = e.offset(n)
	if err != nil || !strings.HasPrefix(e.Text[from:], "{") {
		return 0, 0, errors.Join(err, errLayout)
	}
	depth := 0
	for at := from; at < len(e.Text); at++ {
		switch c := e.Text[at]; c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return from, at + 1, nil
			}
		case '"', '\'':
			return 0, 0, errLayout
		case '#':
			end := strings.IndexByte(e.Text[at:], '\n')
			if end < 0 {
				return 0, 0, errLayout
			}
			at += end
		}
	}
	return 0, 0, errLayout
}

// PlainFlow reports whether a node is a flow mapping on one line.
func (e *Editor) PlainFlow(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle == 0 {
		return false
	}
	from, to, err := e.braces(n)
	return err == nil && !strings.Contains(e.Text[from:to], "\n")
}

// ReplaceFlow replaces a flow mapping.
func (e *Editor) ReplaceFlow(n *yaml.Node, by string) error {
	from, to, err := e.braces(n)
	if err == nil {
		e.splice(from, to, by)
	}
	return err
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
