package chat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// texts remembers which JSON text a template's object was made of, so that tojson writes
// a call's arguments as they were.
type texts map[*exec.Dict]string

// textsKey is the variable that holds the texts; templates cannot name it.
const textsKey = "JSON texts"

// value is a JSON text as a template sees it: objects keep the order of their keys, which
// the engine's maps do not.
func value(text json.RawMessage) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err == nil {
		err = ended(d)
	}
	return v, err
}

func decodeValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("JSON of more than %d levels", maxJSONDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return number(t)
	case json.Delim:
		if t == '{' {
			return decodeObject(d, depth)
		}
		list := []any{}
		for d.More() {
			x, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, x)
		}
		_, err := d.Token()
		return list, err
	}
	return t, nil
}

func decodeObject(d *json.Decoder, depth int) (any, error) {
	out := exec.NewDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		x, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		out.Pairs = append(out.Pairs, &exec.Pair{Key: exec.AsValue(key), Value: exec.AsValue(x)})
	}
	_, err := d.Token()
	return out, err
}

// number is an int if it can be one: templates compare and print it as such.
func number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return int(i), nil
	}
	return n.Float64()
}

// dict is an object of given members.
func dict(pairs ...any) *exec.Dict {
	out := exec.NewDict()
	for i := 0; i < len(pairs); i += 2 {
		out.Pairs = append(out.Pairs, &exec.Pair{Key: exec.AsValue(pairs[i]), Value: exec.AsValue(pairs[i+1])})
	}
	return out
}

// pairs are the members of an object, whether the template or the caller has made it.
func pairs(v *exec.Value) (out []*exec.Pair) {
	if !v.IsDict() {
		return nil
	}
	for _, key := range v.Keys() {
		item, _ := v.GetItem(key.Interface())
		out = append(out, &exec.Pair{Key: key, Value: item})
	}
	return out
}

// items is Python's dict.items() and the filter of that name, in the order of the keys.
func items(v *exec.Value) []any {
	list := []any{}
	for _, p := range pairs(v) {
		list = append(list, []any{p.Key.Interface(), p.Value.Interface()})
	}
	return list
}

// keysOf and valuesOf are Python's dict.keys() and dict.values().
func keysOf(v *exec.Value) []any {
	list := []any{}
	for _, p := range pairs(v) {
		list = append(list, p.Key.Interface())
	}
	return list
}

func valuesOf(v *exec.Value) []any {
	list := []any{}
	for _, p := range pairs(v) {
		list = append(list, p.Value.Interface())
	}
	return list
}
