package planjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"mla/runtime/plan"
)

// Unmarshal reads the output of Marshal. Errors name the place in the tree, such as "[0].Kernels[3].Threads".
func Unmarshal(text []byte) ([]*plan.Bundle, error) { return unmarshal(text, MaxMemory) }

func unmarshal(text []byte, memory int64) ([]*plan.Bundle, error) {
	r := &reader{tokens: json.NewDecoder(bytes.NewReader(text)), memory: memory}
	r.tokens.UseNumber()
	var bundles []*plan.Bundle
	r.value(reflect.ValueOf(&bundles).Elem())
	if _, err := r.tokens.Token(); err != io.EOF {
		r.fail("text after the end")
	}
	if r.err != nil {
		return nil, r.err
	}
	return bundles, nil
}

// reader reads tokens as the types require, so a text cannot be nested more deeply than the types are. It
// keeps its first error.
type reader struct {
	tokens *json.Decoder
	path   []string
	memory int64 // bytes that may still be allocated
	err    error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %s", strings.Join(r.path, ""), fmt.Sprintf(format, args...))
	}
}

// at reads a value at a place below the current one.
func (r *reader) at(place string, v reflect.Value) {
	r.path = append(r.path, place)
	r.value(v)
	r.path = r.path[:len(r.path)-1]
}

// token is the next token; nil after an error.
func (r *reader) token() json.Token {
	if r.err != nil {
		return nil
	}
	t, err := r.tokens.Token()
	if err != nil {
		r.fail("%v", err)
		return nil
	}
	return t
}

// allocate subtracts from the memory that is left.
func (r *reader) allocate(bytes int64) {
	if r.memory -= bytes; r.memory < 0 {
		r.fail("the tables are too large")
	}
}

func (r *reader) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		r.allocate(int64(v.Type().Elem().Size()))
		v.Set(reflect.New(v.Type().Elem()))
		r.value(v.Elem())
	case reflect.Interface:
		r.part(v)
	case reflect.Struct:
		r.object(func(key string) { r.field(v, key) })
	case reflect.Slice:
		r.list(v)
	default:
		r.scalar(v, r.token())
	}
}

// object reads an object and calls f for the value of each key. A repeated key is an error.
func (r *reader) object(f func(key string)) {
	if t := r.token(); t != json.Delim('{') {
		r.fail("expected an object")
		return
	}
	var seen []string // few: a struct has about ten fields
	for r.err == nil {
		t := r.token()
		if t == json.Delim('}') {
			return
		}
		key, _ := t.(string)
		if slices.Contains(seen, key) {
			r.fail("%.40q is there twice", key)
			return
		}
		seen = append(seen, key)
		f(key)
	}
}

func (r *reader) field(v reflect.Value, key string) {
	i, ok := fieldOf(v.Type(), key)
	if !ok {
		r.fail("unknown key %.40q", key)
		return
	}
	r.at("."+key, v.Field(i))
}

// fieldOf is the index of a struct's field with exactly that name.
func fieldOf(t reflect.Type, name string) (int, bool) {
	for i := range t.NumField() {
		if t.Field(i).Name == name {
			return i, true
		}
	}
	return 0, false
}

// part reads an object with a single key, the name of a type.
func (r *reader) part(v reflect.Value) {
	n := 0
	r.object(func(key string) {
		t, ok := parts[key]
		if n++; !ok || n > 1 {
			r.fail("%.40q is no part, or one too many", key)
			return
		}
		p := reflect.New(t)
		r.allocate(int64(t.Size()))
		r.at("("+key+")", p.Elem())
		v.Set(p)
	})
	if n == 0 {
		r.fail("expected a part")
	}
}

func (r *reader) list(v reflect.Value) {
	if t := r.token(); t != json.Delim('[') {
		r.fail("expected a list")
		return
	}
	size := int64(v.Type().Elem().Size())
	for i := 0; r.err == nil && r.tokens.More(); i++ {
		if i == v.Cap() { // double the capacity
			if r.allocate(size * int64(max(4, i))); r.err != nil {
				return
			}
			v.Grow(max(4, i))
		}
		v.SetLen(i + 1)
		r.at("["+strconv.Itoa(i)+"]", v.Index(i))
	}
	r.token() // ']', as the decoder has checked
}

// scalar sets a value that is a single token.
func (r *reader) scalar(v reflect.Value, t json.Token) {
	switch text := t.(type) {
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(text)
			return
		}
	case string:
		if v.Kind() == reflect.String {
			r.allocate(int64(len(text)))
			v.SetString(text)
			return
		}
	case json.Number:
		if setNumber(v, text.String()) {
			return
		}
		r.fail("%.40s is no number of type %s", text, v.Kind())
		return
	}
	r.fail("expected a value of type %s", v.Kind())
}

// setNumber sets v to a number, and says whether v can hold it.
func setNumber(v reflect.Value, text string) bool {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v.OverflowInt(n) {
			return false
		}
		v.SetInt(n)
	case reflect.Uint8, reflect.Uint32:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || v.OverflowUint(n) {
			return false
		}
		v.SetUint(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil { // also for numbers that are not finite
			return false
		}
		v.SetFloat(x)
	default:
		return false
	}
	return true
}
