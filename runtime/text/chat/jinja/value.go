package jinja

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
)

// Value is a value of a template: nil, bool, int, *big.Int (only beyond int), float64, string, or one of this
// package's types.
type Value = any

// markup is a text that is safe in HTML, from the filters safe and escape.
type markup string

// List is Python's list.
type List struct {
	items []Value
	text  string // the JSON from which it was parsed, if it is to be written unchanged
}

// NewList returns a list of the values.
func NewList(items ...Value) *List { return &List{items: items} }

// tuple is Python's tuple. Its items can have names.
type tuple struct {
	items []Value
	names []string
}

// Dict is Python's dict, which keeps the order of its keys.
type Dict struct {
	keys, values []Value
	index        map[hash]int
	text         string // as List's
}

// NewDict returns a dict from alternating keys and values; keys are strings.
func NewDict(pairs ...Value) *Dict {
	d := &Dict{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.Set(pairs[i].(string), pairs[i+1])
	}
	return d
}

// Set sets the value of a key.
func (d *Dict) Set(key string, v Value) { d.put(hash{'s', key}, key, v) }

func (d *Dict) put(h hash, key, v Value) {
	if d.index == nil {
		d.index = map[hash]int{}
	}
	if i, ok := d.index[h]; ok {
		d.values[i] = v
		return
	}
	d.index[h] = len(d.keys)
	d.keys, d.values = append(d.keys, key), append(d.values, v)
}

func (d *Dict) find(h hash) (Value, bool) {
	i, ok := d.index[h]
	if !ok {
		return nil, false
	}
	return d.values[i], true
}

func (d *Dict) remove(h hash) {
	at := d.index[h]
	delete(d.index, h)
	d.keys, d.values = slices.Delete(d.keys, at, at+1), slices.Delete(d.values, at, at+1)
	for k, i := range d.index {
		if i > at {
			d.index[k] = i - 1
		}
	}
}

// namespace is the result of namespace().
type namespace struct{ attrs *Dict }

// undefined is the value of a missing name or member. Using it fails with the message.
type undefined struct{ message string }

func missingName(name string) *undefined { return &undefined{quote(name) + " is undefined"} }

// view is the result of keys, values and items of a dict.
type view struct {
	dict *Dict
	kind string
}

func (v *view) at(i int) Value {
	switch v.kind {
	case "dict_keys":
		return v.dict.keys[i]
	case "dict_values":
		return v.dict.values[i]
	}
	return &tuple{items: []Value{v.dict.keys[i], v.dict.values[i]}}
}

// numbers is range().
type numbers struct{ start, stop, step, n int }

// function is a callable value.
type function struct {
	name string
	call func(s *state, a args) Value
}

// iterator yields values once.
type iterator struct {
	kind string
	next func() (Value, bool)
}

// typeName is Python's name of a value's type.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case markup:
		return "Markup"
	case *List:
		return "list"
	case *tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *namespace:
		return "Namespace"
	case *undefined:
		return "Undefined"
	case *view:
		return v.kind
	case *numbers:
		return "range"
	case *iterator:
		return v.kind
	case *macro:
		return "Macro"
	case *loop:
		return "LoopContext"
	case *cycler:
		return "Cycler"
	}
	return "function"
}

// textOf returns the characters of a text; false: the value is not a text.
func textOf(v Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

// intOf returns a small integer; False and True count as integers.
func intOf(v Value) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// sequence is the items of a list or tuple.
func sequence(v Value) ([]Value, bool) {
	switch v := v.(type) {
	case *List:
		return v.items, true
	case *tuple:
		return v.items, true
	}
	return nil, false
}

// truth is Python's bool().
func truth(v Value) bool {
	switch v := v.(type) {
	case nil, *undefined:
		return false
	case bool:
		return v
	case float64:
		return v != 0
	}
	if n, ok := intOf(v); ok {
		return n != 0
	}
	if n, ok := length(v); ok {
		return n != 0
	}
	return true
}

// length is Python's len(), if the value has one.
func length(v Value) (int, bool) {
	switch v := v.(type) {
	case string:
		return runes(v), true
	case markup:
		return runes(string(v)), true
	case *List:
		return len(v.items), true
	case *tuple:
		return len(v.items), true
	case *Dict:
		return len(v.keys), true
	case *view:
		return len(v.dict.keys), true
	case *numbers:
		return v.n, true
	case *undefined:
		return 0, true
	case *loop:
		return v.length(), true
	}
	return 0, false
}

// hash is equal for values that are equal as keys of a dict.
type hash struct {
	kind byte
	text string
}

func (s *state) hash(v Value) hash {
	switch v := v.(type) {
	case nil:
		return hash{'0', ""}
	case string:
		return hash{'s', v}
	case markup:
		return hash{'s', string(v)}
	case float64:
		if n, ok := wholeFloat(v); ok {
			return hash{'i', bigOf(n).String()}
		}
		return hash{'f', strconv.FormatFloat(v, 'g', -1, 64)}
	case *big.Int:
		return hash{'i', v.String()}
	case *undefined:
		return hash{'u', ""}
	case *numbers:
		return hash{'r', fmt.Sprint(v.n, v.start*min(v.n, 1), v.step*min(v.n-1, 1)*min(v.n, 1))}
	case *tuple:
		s.enter()
		defer s.leave()
		text := ""
		for _, x := range v.items {
			h := s.hash(x)
			s.charge(len(text) + len(h.text) + overhead)
			text += string(h.kind) + strconv.Itoa(len(h.text)) + ":" + h.text
		}
		return hash{'t', text}
	case *List, *Dict, *namespace, *view:
		fail("unhashable type: %s", quote(typeName(v)))
	}
	if n, ok := intOf(v); ok {
		return hash{'i', strconv.Itoa(n)}
	}
	fail("a %s cannot be a key", typeName(v))
	return hash{}
}
