package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"mla/runtime/plan"
)

// A tuning file has the content of the key tuning of a spec, for any device or for one class:
// specs/tuning/x.yaml and specs/tuning/x.CLASS.yaml belong to specs/x.yaml. So the spec describes the model,
// and its tuning files hold what was measured.

// Text is a file in memory.
type Text struct {
	Path string
	Data []byte
}

// TuningFolder is the name of the folder with tuning files. It lies in the folder of the spec.
const TuningFolder = "tuning"

// TuningFile returns the path of the tuning file of a spec for a class of devices ("" for any device).
func TuningFile(spec, class string) string {
	name := stem(spec)
	if class != "" {
		name += "." + class
	}
	return filepath.Join(filepath.Dir(spec), TuningFolder, name+".yaml")
}

// stem is the base name of a file without the extension of YAML files.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(strings.TrimSuffix(base, ".yaml"), ".yml")
}

// TuningFiles lists the tuning files of a spec: the one for any device first, then the others by name. If the
// names of several specs begin a file's name, the file belongs to the spec with the longest name: glm4.7.yaml
// in the folder belongs to glm4.7.yaml, not to glm4.yaml. A missing folder is no error.
func TuningFiles(spec string) ([]string, error) {
	folder := filepath.Join(filepath.Dir(spec), TuningFolder)
	files, err := os.ReadDir(folder)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	beside, err := os.ReadDir(filepath.Dir(spec))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, f := range files {
		if isYAML(f) && belongs(stem(f.Name()), stem(spec)) && !slices.ContainsFunc(beside, func(o os.DirEntry) bool {
			return isYAML(o) && len(stem(o.Name())) > len(stem(spec)) && belongs(stem(f.Name()), stem(o.Name()))
		}) {
			found = append(found, filepath.Join(folder, f.Name()))
		}
	}
	slices.SortFunc(found, func(a, b string) int { return strings.Compare(stem(a), stem(b)) })
	return found, nil
}

func isYAML(f os.DirEntry) bool { return !f.IsDir() && stem(f.Name()) != f.Name() }

// belongs reports whether a tuning file with this stem may be one of the spec with that stem.
func belongs(name, spec string) bool { return name == spec || strings.HasPrefix(name, spec+".") }

// TuningClass returns the class of devices that a tuning file of a spec is for, by the file's name; "" for
// any device.
func TuningClass(spec, path string) string {
	name := stem(path)
	if belongs(name, stem(spec)) {
		return strings.TrimPrefix(strings.TrimPrefix(name, stem(spec)), ".")
	}
	return strings.TrimPrefix(filepath.Ext(name), ".")
}

// join inserts the content of tuning files into root as if the spec had it. All values keep their file and
// position.
func (d *decoder) join(root *yaml.Node, tunings []Text) {
	spec := d.file
	defer func() { d.file = spec }()
	for _, t := range tunings {
		d.file = t.Path
		start := &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}
		class := TuningClass(spec, t.Path)
		if class != "" && !slices.Contains(plan.Classes, class) {
			d.errorf(start, "%s; expected a name like %s or %s", unknown("class of devices in the file's name:", class, plan.Classes),
				filepath.Base(TuningFile(spec, "")), filepath.Base(TuningFile(spec, plan.Classes[0])))
			continue
		}
		own := d.parse(t.Data)
		if own == nil {
			continue
		}
		if own.Kind != yaml.MappingNode {
			d.errorf(own, "a tuning is %s; expected a mapping with the keys %s", describe(own), strings.Join(keys(classTuningFields(&classTuning{})), ", "))
			continue
		}
		d.mark(own, t.Path)
		d.mark(start, t.Path)
		at := d.below(root, "tuning", start)
		if class != "" {
			at = d.below(d.below(at, "devices", start), class, start)
		}
		for i := 0; i+1 < len(own.Content); i += 2 {
			d.add(at, own.Content[i], own.Content[i+1], spec, class)
		}
	}
}

// mark records that n and all nodes below it come from file.
func (d *decoder) mark(n *yaml.Node, file string) {
	d.files[n] = file
	for _, c := range n.Content {
		d.mark(c, file)
	}
}

// below returns the mapping at a key of n, and adds one if there is none. It returns a value that is not a
// mapping as it is; decoding will report it.
func (d *decoder) below(n *yaml.Node, key string, start *yaml.Node) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != key {
			continue
		}
		if isScalar(n.Content[i+1], "!!null") {
			n.Content[i+1] = d.mapNode(start)
		}
		return n.Content[i+1]
	}
	k, v := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: 1, Column: 1}, d.mapNode(start)
	d.files[k] = d.file
	n.Content = append(n.Content, k, v)
	return v
}

// mapNode returns an empty mapping at the position of start.
func (d *decoder) mapNode(start *yaml.Node) *yaml.Node {
	v := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: start.Line, Column: start.Column}
	d.files[v] = d.file
	return v
}

// add adds a key of the current tuning file to the mapping at. It reports a key that the mapping already has
// from another file.
func (d *decoder) add(at, key, value *yaml.Node, spec, class string) {
	if class == "" && key.Value == "devices" {
		d.errorf(key, "a tuning file has no key \"devices\"; the tuning of a class stands in a file of its own, such as %s", filepath.Base(TuningFile(spec, plan.Classes[0])))
		return
	}
	for i := 0; i+1 < len(at.Content); i += 2 {
		old := at.Content[i]
		file, ok := d.files[old]
		if !ok {
			file = spec
		}
		if old.Value == key.Value && file != d.file {
			d.errorf(key, "%s has the key %q of this tuning, too (line %d); keep one of both", file, key.Value, old.Line)
			return
		}
	}
	if at.Kind == yaml.MappingNode {
		at.Style &^= yaml.FlowStyle
		at.Content = append(at.Content, key, value)
	}
}

// fileOf returns the file that a node comes from.
func (d *decoder) fileOf(n *yaml.Node) string {
	if file, ok := d.files[n]; ok {
		return file
	}
	return d.file
}

// whole returns the spec as one text, which bundle files carry: the file itself, or if there are tuning files
// one text that includes them, without comments.
func whole(data []byte, root *yaml.Node, tunings []Text) ([]byte, error) {
	if len(tunings) == 0 {
		return data, nil
	}
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(bare(root)); err != nil {
		return nil, err
	}
	return text.Bytes(), e.Close()
}

// bare returns a copy of a node without comments.
func bare(n *yaml.Node) *yaml.Node {
	c := *n
	c.HeadComment, c.LineComment, c.FootComment = "", "", ""
	c.Content = nil
	for _, child := range n.Content {
		c.Content = append(c.Content, bare(child))
	}
	return &c
}

// sum returns the SHA-256 of text in hexadecimal.
func sum(text []byte) string {
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:])
}
