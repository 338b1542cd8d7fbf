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

// Change is one thing that Retune writes: the shape of a kernel, all of it (what is 0
// is left open), or, if Kernel is empty, how attention is cut.
type Change struct {
	Kernel    string
	Shape     Shape
	Attention Attention
	Found     Found // on what it was measured, when, and with what gain
}

// Retune is the tuning file at path with changes, for the class of devices that its name says, and
// the spec with it in place of what the spec had from a file of that path. Nothing else changes:
// comments and layout stay as they are. What the spec says already, of the class or of any device,
// is not written; if that is everything, the text is nil. Where a file is laid out so that this
// fails, the error says what to write by hand.
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

// byHand says what to write where Retune cannot.
func byHand(err error, path string, changes []Change) error {
	var all []string
	for _, c := range changes {
		all = append(all, c.text())
	}
	return fmt.Errorf("tuning cannot be written into %s (%w); write by hand: %s", path, err, strings.Join(all, "; "))
}

// sameBut says whether after is a variant of the spec that before is one of, with the tunings want.
func sameBut(before, after *Spec, want tunings) bool {
	x, y := *before.general(), *after
	for _, s := range []*Spec{&x, &y} {
		s.Hash, s.Text, s.tuningFiles = "", nil, nil
		s.Tuning = Tuning{} // follows from tunings
	}
	x.tunings, y.tunings = want.withoutPositions(), after.tunings.withoutPositions()
	return reflect.DeepEqual(x, y)
}

// withoutPositions is t with classes and kernels in the order of their names.
func (t *tunings) withoutPositions() tunings {
	sorted := t.clone()
	sorted.general = sorted.general.withoutPositions()
	for i := range sorted.classes {
		sorted.classes[i].Tuning = sorted.classes[i].Tuning.withoutPositions()
	}
	slices.SortFunc(sorted.classes, func(a, b classTuning) int { return strings.Compare(a.class, b.class) })
	return sorted
}

// withoutPositions is t with its kernels in the order of their names.
func (t Tuning) withoutPositions() Tuning {
	t.Kernels = slices.Clone(t.Kernels)
	for i := range t.Kernels {
		t.Kernels[i].File, t.Kernels[i].Line, t.Kernels[i].Column = "", 0, 0
	}
	slices.SortFunc(t.Kernels, func(a, b KernelShape) int { return strings.Compare(a.Kernel, b.Kernel) })
	return t
}

// changes says whether a tuning says anything else than c.
func (c *Change) changes(t *Tuning) bool {
	if c.Kernel == "" {
		return c.Attention != t.Attention
	}
	s, _ := t.Shape(c.Kernel)
	return s != c.Shape
}

func (c *Change) apply(t *Tuning) {
	if c.Kernel == "" {
		t.Attention, t.AttentionFound = c.Attention, c.Found
		return
	}
	t.SetShape(c.Kernel, c.Shape)
	t.named(c.Kernel).Found = c.Found
}

// value is a key and what it is to be.
type value struct{ key, is string }

// path is where c stands in a tuning file, and what stands there.
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

// values are the keys of what was measured.
func (f *Found) values() (values []value) {
	for _, v := range []value{{"device", f.Device}, {"date", f.Date}, {"gain", strconv.FormatFloat(f.Gain, 'f', -1, 64)}} {
		if v.is != "" && v.is != "0" {
			values = append(values, v)
		}
	}
	return values
}

// notPlain are characters that may end a string without quotes, and what stands before or after one.
var notPlain = regexp.MustCompile(`[^A-Za-z0-9._()+ -]+|^[^A-Za-z]+| +$`)

// plain is text as YAML has it on one line without quotes, so that a later Retune can replace it.
func plain(text string) string {
	text = strings.Join(strings.Fields(notPlain.ReplaceAllString(notPlain.ReplaceAllString(text, " "), " ")), " ")
	if !isScalar(&yaml.Node{Kind: yaml.ScalarNode, Value: text}, "!!str") { // a word such as true
		return ""
	}
	return text[:min(len(text), maxText)]
}

// flow is values on one line.
func flow(values []value) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, v.key+": "+v.is)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// text is c as one writes it.
func (c *Change) text() string {
	path, values := c.path()
	return strings.Join(path, ".") + ": " + flow(values)
}

// write puts c into a tuning file.
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
