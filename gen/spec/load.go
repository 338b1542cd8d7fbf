package spec

import (
	"bytes"
	"go/token"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"mla/runtime/gguf"
	"mla/runtime/system/userfile"
)

// MaxFile is the largest size of a file in bytes, about a hundred times that of a long one.
const MaxFile = 1 << 18

// Load reads and checks the spec file at path with the given tuning files, or without any with the files that
// TuningFiles finds. It returns the first of the spec's variants. The error is an ErrorList with all
// mistakes, or an error of reading a file.
func Load(path string, tunings ...string) (*Spec, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	if len(tunings) == 0 {
		if tunings, err = TuningFiles(path); err != nil {
			return nil, err
		}
	}
	var texts []Text
	for _, t := range tunings {
		text, err := read(t)
		if err != nil {
			return nil, err
		}
		texts = append(texts, Text{t, text})
	}
	return Parse(path, data, texts...)
}

// read returns at most MaxFile+1 bytes of a file.
func read(path string) ([]byte, error) {
	f, err := userfile.OpenPiped(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// Parse is Load for data in memory. Messages use the path file. The names of the tuning files say which class
// of devices they are for.
func Parse(file string, data []byte, tunings ...Text) (*Spec, error) {
	d := &decoder{file: file, at: map[string]*yaml.Node{}, files: map[*yaml.Node]string{}}
	s := &Spec{Name: Name(file), File: filepath.Base(file), Path: file, Architecture: gguf.Deepseek2, model: data, tuningFiles: tunings}
	if root := d.parse(data); root != nil && d.checkVersion(root) {
		if root.Kind == yaml.MappingNode {
			d.join(root, tunings)
		}
		var err error
		switch s.Text, err = whole(data, root, tunings); {
		case err != nil:
			d.errorf(root, "the spec and its tuning files cannot be written as one: %v", err)
		case len(s.Text) > MaxFile:
			d.errorf(root, "with its tuning files the spec has %d bytes; expected at most %d", len(s.Text), MaxFile)
		}
		s.Hash = sum(s.Text)
		d.mapping(root, "", rootFields(s))
		d.hybrid(s)
		d.checkDims(s)
		d.decodeQuants(s)
	}
	if len(d.errs) > 0 {
		d.errs.sort()
		return nil, d.errs
	}
	return s.general(), nil
}

// parse returns the root of the only document in data, which may have no anchors and aliases. On a mistake it
// returns nil.
func (d *decoder) parse(data []byte) *yaml.Node {
	start := &yaml.Node{Line: 1, Column: 1}
	if len(data) > MaxFile {
		d.errorf(start, "the file is larger than %d bytes", MaxFile)
		return nil
	}
	var doc, rest yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	switch err := dec.Decode(&doc); {
	case err == io.EOF:
		d.errorf(start, "the file is empty")
		return nil
	case err != nil:
		d.syntaxError(err)
		return nil
	}
	if err := dec.Decode(&rest); err == nil {
		d.errorf(&rest, "the file holds a second document; expected one")
		return nil
	} else if err != io.EOF {
		d.syntaxError(err)
		return nil
	}
	before := len(d.errs)
	d.rejectAliases(&doc)
	if len(d.errs) > before {
		return nil
	}
	return doc.Content[0]
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)

// syntaxError reports an error of the YAML parser, which tells the line but not the column.
func (d *decoder) syntaxError(err error) {
	msg, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		msg = strings.TrimPrefix(err.Error(), m[0])
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	d.errorf(&yaml.Node{Line: line, Column: 1}, "not valid YAML: %s", msg)
}

// rejectAliases reports anchors and aliases. Without them a file reads from top to bottom, and a small file
// cannot expand to a large one.
func (d *decoder) rejectAliases(n *yaml.Node) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		d.errorf(n, "anchors (&) and aliases (*) are not allowed")
		return
	}
	for _, c := range n.Content {
		d.rejectAliases(c)
	}
}

// reserved are names that the Go package of a bundle cannot have: the go command
// or the compiler treats them specially, or the registry of bundles declares them.
var reserved = map[string]bool{"main": true, "internal": true, "vendor": true, "testdata": true, "documentation": true,
	"init": true, "bundles": true}

// Name makes a Go identifier of lower-case letters and digits out of the stem of a file's name. It names the
// bundle, its folder and its package. Other characters are dropped. "m" is put before a leading digit, and
// "model" after a reserved word.
func Name(file string) string {
	base := filepath.Base(file)
	for _, ext := range []string{".yaml", ".yml"} {
		base = strings.TrimSuffix(base, ext)
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, base)
	if name == "" || name[0] <= '9' {
		name = "m" + name
	}
	if token.IsKeyword(name) || reserved[name] {
		name += "model"
	}
	return name
}
