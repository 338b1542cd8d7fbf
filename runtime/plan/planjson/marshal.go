package planjson

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	"mla/runtime/plan"
)

// Marshal writes bundles as a JSON list. It fails for numbers that are not finite.
func Marshal(bundles []*plan.Bundle) ([]byte, error) {
	w := &writer{}
	w.value(reflect.ValueOf(bundles))
	if w.err != nil {
		return nil, fmt.Errorf("a bundle as JSON: %w", w.err)
	}
	return append(w.text, '\n'), nil
}

// Hash is the sha256 of a bundle as JSON, with its source: of everything that was compiled.
func Hash(b *plan.Bundle) (string, error) {
	text, err := Marshal([]*plan.Bundle{b})
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

// writer appends values to a text, and keeps its first error.
type writer struct {
	text []byte
	err  error
}

func (w *writer) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		w.value(v.Elem())
	case reflect.Interface:
		w.part(v.Elem().Elem())
	case reflect.Struct:
		w.object(v)
	case reflect.Slice:
		w.list(v)
	case reflect.Bool:
		w.text = strconv.AppendBool(w.text, v.Bool())
	case reflect.Int, reflect.Int64:
		w.text = strconv.AppendInt(w.text, v.Int(), 10)
	case reflect.Uint8, reflect.Uint32:
		w.text = strconv.AppendUint(w.text, v.Uint(), 10)
	case reflect.Float64:
		w.number(v.Float())
	case reflect.String:
		w.string(v.String())
	default:
		w.fail("a value of type %s", v.Type())
	}
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *writer) number(x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		w.fail("the number %g", x)
	}
	w.text = strconv.AppendFloat(w.text, x, 'g', -1, 64)
}

func (w *writer) string(s string) {
	text, err := json.Marshal(s)
	if err != nil {
		w.fail("%w", err)
	}
	w.text = append(w.text, text...)
}

func (w *writer) part(v reflect.Value) {
	if _, known := parts[v.Type().Name()]; !known {
		w.fail("part %s is not known", v.Type())
	}
	w.text = append(w.text, '{')
	w.string(v.Type().Name())
	w.text = append(w.text, ':')
	w.value(v)
	w.text = append(w.text, '}')
}

func (w *writer) object(v reflect.Value) {
	w.text = append(w.text, '{')
	first := true
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		if !first {
			w.text = append(w.text, ',')
		}
		first = false
		w.string(v.Type().Field(i).Name)
		w.text = append(w.text, ':')
		w.value(v.Field(i))
	}
	w.text = append(w.text, '}')
}

func (w *writer) list(v reflect.Value) {
	w.text = append(w.text, '[')
	for i := range v.Len() {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		w.value(v.Index(i))
	}
	w.text = append(w.text, ']')
}

func sortedParts() []string { return slices.Sorted(maps.Keys(parts)) }
