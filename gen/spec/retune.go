package spec

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"mla/gen/yamledit"
)

// Change is one value that Retune writes: the whole shape of a kernel (a zero leaves a field open), or, if
// Kernel is empty, the split of attention.
type Change struct {
	Kernel    string
	Shape     Shape
	Attention Attention
	Found     Found // device, date and gain of the measurement
}

// Retune writes changes into the tuning file at path. It returns the new text of the file and the spec parsed
// with it. The file's name says which class of devices the changes are for.
//
// Comments and layout of the file stay. A change is skipped if the tuning of the class has that value
// already; if all are skipped, the text is nil. If the layout of the file prevents an edit, the error says
// what to write by hand.
func Retune(s *Spec, path string, changes []Change) ([]byte, *Spec, error) {
	class := TuningClass(s.Path, path)
	want, e := s.tunings.clone(), &yamledit.Editor{}
	files := slices.Clone(s.tuningFiles)
	at := slices.IndexFunc(files, func(t Text) bool { return t.Path == path })
	if at < 0 {
		at = len(files)
		files = append(files, Text{Path: path})
	}
	e.Text = string(files[at].Data)
	for _, c := range changes {
		if now := want.of(class); !c.changes(&now) {
			continue
		}
		c.Found = Found{Device: plain(c.Found.Device), Date: c.Found.Date, Gain: c.Found.Gain}
		c.apply(want.at(class))
		if err := c.write(e); err != nil {
			return nil, nil, byHand(err, path, changes)
		}
	}
	if e.Text == string(files[at].Data) {
		return nil, s, nil
	}
	files[at].Data = []byte(e.Text)
	after, err := Parse(s.Path, s.model, files...)
	switch {
	case err != nil:
		return nil, nil, byHand(err, path, changes)
	case !sameBut(s, after, want):
		return nil, nil, byHand(errors.New("other values would change"), path, changes)
	}
	return files[at].Data, after, nil
}

// byHand is the error that says what to write by hand.
func byHand(err error, path string, changes []Change) error {
	var all []string
	for _, c := range changes {
		all = append(all, c.text())
	}
	return fmt.Errorf("tuning cannot be written into %s (%w); write by hand: %s", path, err, strings.Join(all, "; "))
}

// sameBut reports whether after equals before except for its tuning, which must equal want.
func sameBut(before, after *Spec, want tunings) bool {
	x, y := *before.general(), *after
	for _, s := range []*Spec{&x, &y} {
		s.Hash, s.Text, s.tuningFiles = "", nil, nil
		s.Tuning = Tuning{} // follows from tunings
	}
	x.tunings, y.tunings = want.withoutPositions(), after.tunings.withoutPositions()
	return reflect.DeepEqual(x, y)
}

// withoutPositions returns t with classes and kernels sorted by name, and without positions in files.
func (t *tunings) withoutPositions() tunings {
	sorted := t.clone()
	sorted.general = sorted.general.withoutPositions()
	for i := range sorted.classes {
		sorted.classes[i].Tuning = sorted.classes[i].Tuning.withoutPositions()
	}
	slices.SortFunc(sorted.classes, func(a, b classTuning) int { return strings.Compare(a.class, b.class) })
	return sorted
}

// withoutPositions returns t with its kernels sorted by name, and without positions in files.
func (t Tuning) withoutPositions() Tuning {
	t.Kernels = slices.Clone(t.Kernels)
	for i := range t.Kernels {
		t.Kernels[i].File, t.Kernels[i].Line, t.Kernels[i].Column = "", 0, 0
	}
	slices.SortFunc(t.Kernels, func(a, b KernelShape) int { return strings.Compare(a.Kernel, b.Kernel) })
	return t
}

// changes reports whether t has another value than c.
func (c *Change) changes(t *Tuning) bool {
	if c.Kernel == "" {
		return c.Attention != t.Attention
	}
	s, _ := t.Shape(c.Kernel)
	return s != c.Shape
}

// apply changes t by c.
func (c *Change) apply(t *Tuning) {
	if c.Kernel == "" {
		t.Attention, t.AttentionFound = c.Attention, c.Found
		return
	}
	t.SetShape(c.Kernel, c.Shape)
	t.named(c.Kernel).Found = c.Found
}

// value is a key with its new value.
type value struct{ key, is string }

// path returns the path of c in a tuning file, and the keys with values to write there.
func (c *Change) path() (path []string, values []value) {
	number := func(key string, n int) {
		if n != 0 {
			values = append(values, value{key, strconv.Itoa(n)})
		}
	}
	if c.Kernel == "" {
		path = []string{"attention"}
		number("splits", c.Attention.Splits)
		number("tile", c.Attention.Tile)
		number("simdgroups", c.Attention.Simdgroups)
	} else {
		path = []string{"kernels", c.Kernel}
		number("rows_per_simdgroup", c.Shape.RowsPerSimdgroup)
		number("simdgroups", c.Shape.Simdgroups)
		number("split_k", c.Shape.SplitK)
		number("unroll", c.Shape.Unroll)
	}
	return path, append(values, c.Found.values()...)
}

// values returns the keys of a measurement.
func (f *Found) values() (values []value) {
	for _, v := range []value{{"device", f.Device}, {"date", f.Date}, {"gain", strconv.FormatFloat(f.Gain, 'f', -1, 64)}} {
		if v.is != "" && v.is != "0" {
			values = append(values, v)
		}
	}
	return values
}

// notPlain matches what a plain YAML string may not have: special characters anywhere, non-letters at the
// beginning, spaces at the end.
var notPlain = regexp.MustCompile(`[^A-Za-z0-9._()+ -]+|^[^A-Za-z]+| +$`)

// plain returns text as a YAML string on one line that needs no quotes, so that a later Retune can replace
// it. It returns "" if YAML would read the text as another type.
func plain(text string) string {
	text = strings.Join(strings.Fields(notPlain.ReplaceAllString(notPlain.ReplaceAllString(text, " "), " ")), " ")
	if !isScalar(&yaml.Node{Kind: yaml.ScalarNode, Value: text}, "!!str") { // a word such as true
		return ""
	}
	return text[:min(len(text), maxText)]
}

// flow returns values as a YAML flow mapping on one line.
func flow(values []value) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, v.key+": "+v.is)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// text returns c as a user would write it.
func (c *Change) text() string {
	path, values := c.path()
	return strings.Join(path, ".") + ": " + flow(values)
}

// write writes c into a tuning file.
func (c *Change) write(e *yamledit.Editor) error {
	path, values := c.path()
	if strings.TrimSpace(e.Text) == "" {
		e.Text = "# yaml-language-server: $schema=../mla.tuning.schema.json\n\n" + path[0] + ":\n"
	}
	old, err := e.Find(path)
	switch {
	case err != nil:
		return err
	case old == nil, isScalar(old, "!!null"):
		if len(path) == 1 && old != nil { // an empty attention
			for _, v := range values {
				if err := e.Set(append(path[:len(path):len(path)], v.key), v.is); err != nil {
					return err
				}
			}
			return nil
		}
		return e.Set(path, flow(values))
	case e.PlainFlow(old):
		return e.ReplaceFlow(old, flow(values))
	}
	for _, v := range values {
		if err := e.Set(append(path[:len(path):len(path)], v.key), v.is); err != nil {
			return err
		}
	}
	return nil
}
