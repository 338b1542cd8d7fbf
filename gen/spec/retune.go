package spec

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mla/gen/yamledit"
)

// Change is one thing that Retune writes: the shape of a kernel, all of it (what is 0
// is left open), or, if Kernel is empty, how attention is cut.
type Change struct {
	Kernel    string
	Shape     Shape
	Attention Attention
	Why       string // for a comment: on what was it measured, when, and with what gain
}

// Retune writes changes into the tuning that a spec's text has for a class of devices
// (one of plan.Classes; "": for any) and nothing else: comments and layout stay as they
// are. Above each change goes a comment with the reason, in place of the one that an
// earlier Retune left. What the text says already, of the class or of any device, is not
// written. The result is a spec that differs from the one before in its tuning only;
// where a file is laid out so that this fails, the error says what to write by hand.
func Retune(text []byte, class string, changes []Change) ([]byte, error) {
	before, err := Parse("spec.yaml", text)
	if err != nil {
		return nil, err
	}
	want, e := before.tunings.clone(), &yamledit.Editor{Text: string(text)}
	for _, c := range changes {
		if now := want.of(class); !c.changes(&now) {
			continue
		}
		c.apply(want.at(class))
		if err := c.write(e, class); err != nil {
			return nil, byHand(err, class, changes)
		}
	}
	out := []byte(e.Text)
	after, err := Parse("spec.yaml", out)
	switch {
	case err != nil:
		return nil, byHand(err, class, changes)
	case !sameBut(before, after, want):
		return nil, byHand(errors.New("other values would change"), class, changes)
	}
	return out, nil
}

// byHand says what to write where Retune cannot.
func byHand(err error, class string, changes []Change) error {
	var all []string
	for _, c := range changes {
		all = append(all, c.text(class))
	}
	return fmt.Errorf("tuning cannot be written into this layout (%w); write by hand: %s", err, strings.Join(all, "; "))
}

// sameBut says whether after is before with the tunings want.
func sameBut(before, after *Spec, want tunings) bool {
	x, y := *before, *after
	x.Hash, y.Hash = "", ""
	x.Tuning, y.Tuning = Tuning{}, Tuning{} // follow from tunings
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
		t.Kernels[i].Line, t.Kernels[i].Column = 0, 0
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
		t.Attention = c.Attention
	} else {
		t.SetShape(c.Kernel, c.Shape)
	}
}

// value is a key and what it is to be.
type value struct {
	key string
	is  int
}

// path is where c stands in the file for a class, and what stands there.
func (c *Change) path(class string) ([]string, []value) {
	at := classPath(class)
	if c.Kernel == "" {
		a := c.Attention
		return append(at, "attention"), []value{{"splits", a.Splits}, {"tile", a.Tile}, {"simdgroups", a.Simdgroups}}
	}
	s := c.Shape
	values := []value{{"rows_per_simdgroup", s.RowsPerSimdgroup}, {"simdgroups", s.Simdgroups}, {"split_k", s.SplitK}, {"unroll", s.Unroll}}
	return append(at, "kernels", c.Kernel), slices.DeleteFunc(values, func(v value) bool { return v.is == 0 })
}

// flow is values on one line.
func flow(values []value) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, v.key+": "+strconv.Itoa(v.is))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// text is c as one writes it.
func (c *Change) text(class string) string {
	path, values := c.path(class)
	return strings.Join(path, ".") + ": " + flow(values)
}

// write puts c into the text.
func (c *Change) write(e *yamledit.Editor, class string) error {
	path, values := c.path(class)
	old, err := e.Find(path)
	switch {
	case err != nil:
		return err
	case old == nil, isScalar(old, "!!null"):
		err = e.Set(path, flow(values))
	case e.PlainFlow(old):
		err = e.ReplaceFlow(old, flow(values))
	default:
		for _, v := range values {
			if err = e.Set(append(path[:len(path):len(path)], v.key), strconv.Itoa(v.is)); err != nil {
				return err
			}
		}
	}
	if err != nil {
		return err
	}
	return e.Comment(path, path[len(path)-1], "tuned on", printable(c.Why))
}

// printable is text that cannot end a comment.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
