package spec

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// decoder turns YAML nodes into a Spec. It collects mistakes and continues. It also keeps the node of every
// well-formed value, for the checks that compare values.
type decoder struct {
	file   string
	errs   ErrorList
	at     map[string]*yaml.Node // path such as "model.hidden_size" -> its value
	files  map[*yaml.Node]string // the file of nodes that come from a tuning file, see join
	quants *yaml.Node            // decoded last: its layer numbers need the dimensions
}

// field is one key of a mapping. decode stores the value and reports whether it
// was well formed.
type field struct {
	key      string
	optional bool
	decode   func(d *decoder, n *yaml.Node, path string) bool
}

// optional returns f as a key that may be missing.
func optional(f field) field {
	f.optional = true
	return f
}

// errorf adds a mistake at the position of n.
func (d *decoder) errorf(n *yaml.Node, format string, args ...any) {
	d.errs = append(d.errs, Error{d.fileOf(n), max(n.Line, 1), max(n.Column, 1), fmt.Sprintf(format, args...)})
}

// has reports whether the values at all the paths were well formed.
func (d *decoder) has(paths ...string) bool {
	for _, p := range paths {
		if d.at[p] == nil {
			return false
		}
	}
	return true
}

// mapping decodes the mapping n by the table fields. path is the path of n, "" for the whole file. It reports
// whether all of n was well formed.
func (d *decoder) mapping(n *yaml.Node, path string, fields []field) bool {
	where := path
	if path == "" {
		where = "the file"
	}
	if n.Kind != yaml.MappingNode {
		d.errorf(n, "%s is %s; expected a mapping with the keys %s", where, describe(n), strings.Join(keys(fields), ", "))
		return false
	}
	before := len(d.errs)
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f := find(fields, key)
		switch {
		case f == nil && strings.HasPrefix(path, "tuning") && removed[key.Value] != "":
			d.errorf(key, "%s has no key %q any more: %s; delete it", where, key.Value, removed[key.Value])
		case f == nil:
			d.errorf(key, "%s", unknown("key in "+where, key.Value, keys(fields)))
		case seen[f.key]:
			d.errorf(key, "key %q appears twice in %s", f.key, where)
		default:
			seen[f.key] = true
			child := strings.TrimPrefix(path+"."+f.key, ".")
			if f.decode(d, value, child) {
				d.at[child] = value
			}
		}
	}
	for _, f := range fields {
		if !f.optional && !seen[f.key] {
			d.errorf(n, "%s lacks the key %q", where, f.key)
		}
	}
	return len(d.errs) == before
}

// find returns the field that key names, or nil.
func find(fields []field, key *yaml.Node) *field {
	if key.Kind != yaml.ScalarNode {
		return nil
	}
	for i := range fields {
		if fields[i].key == key.Value {
			return &fields[i]
		}
	}
	return nil
}

func keys(fields []field) []string {
	var list []string
	for _, f := range fields {
		list = append(list, f.key)
	}
	return list
}

// section is a key whose value is a mapping.
func section(key string, fields []field) field {
	return field{key: key, decode: func(d *decoder, n *yaml.Node, path string) bool {
		return d.mapping(n, path, fields)
	}}
}

// integer is a key with a whole number in [lo, hi].
func integer(key string, dst *int, lo, hi int) field {
	return field{key: key, decode: func(d *decoder, n *yaml.Node, path string) bool {
		var v int64
		if !isScalar(n, "!!int") || n.Decode(&v) != nil {
			d.errorf(n, "%s is %s; expected an integer from %d to %d", path, describe(n), lo, hi)
			return false
		}
		if v < int64(lo) || v > int64(hi) {
			d.errorf(n, "%s is %d; expected an integer from %d to %d", path, v, lo, hi)
			return false
		}
		*dst = int(v)
		return true
	}}
}

// number is a key with a finite number in [lo, hi].
func number(key string, dst *float64, lo, hi float64) field {
	return field{key: key, decode: func(d *decoder, n *yaml.Node, path string) bool {
		var v float64
		if !isScalar(n, "!!int", "!!float") || n.Decode(&v) != nil || math.IsNaN(v) {
			d.errorf(n, "%s is %s; expected a number from %g to %g", path, describe(n), lo, hi)
			return false
		}
		if v < lo || v > hi {
			d.errorf(n, "%s is %g; expected a number from %g to %g", path, v, lo, hi)
			return false
		}
		*dst = v
		return true
	}}
}

// boolean is a key with true or false.
func boolean(key string, dst *bool) field {
	return field{key: key, decode: func(d *decoder, n *yaml.Node, path string) bool {
		if !isScalar(n, "!!bool") || n.Decode(dst) != nil {
			d.errorf(n, "%s is %s; expected true or false", path, describe(n))
			return false
		}
		return true
	}}
}

// maxText is the length of the longest string, in bytes.
const maxText = 200

// text is a key with a short string on one line.
func text(key string, dst *string) field { return textUpTo(key, dst, maxText) }

// textUpTo is a key with a string of at most most bytes on one line.
func textUpTo(key string, dst *string, most int) field {
	return field{key: key, decode: func(d *decoder, n *yaml.Node, path string) bool {
		if !isScalar(n, "!!str") || n.Value == "" || len(n.Value) > most || strings.ContainsAny(n.Value, "\r\n") {
			d.errorf(n, "%s is %s; expected a string of 1 to %d bytes on one line", path, describe(n), most)
			return false
		}
		*dst = n.Value
		return true
	}}
}

// oneOf is a key with one of a few names.
func oneOf(key string, dst *string, names []string) field {
	return field{key: key, decode: func(d *decoder, n *yaml.Node, path string) bool {
		if !d.isOneOf(n, path, names) {
			return false
		}
		*dst = n.Value
		return true
	}}
}

// isOneOf reports whether n is one of names, and adds a mistake if it is not.
func (d *decoder) isOneOf(n *yaml.Node, path string, names []string) bool {
	if !isScalar(n, "!!str") {
		d.errorf(n, "%s is %s; expected one of %s", path, describe(n), strings.Join(names, ", "))
		return false
	}
	if !slices.Contains(names, n.Value) {
		d.errorf(n, "%s", unknown(path, n.Value, names))
		return false
	}
	return true
}

// nullable accepts null, or nothing after the colon, in place of the value. The value then keeps its default.
func nullable(f field) field {
	decode := f.decode
	f.decode = func(d *decoder, n *yaml.Node, path string) bool {
		return isScalar(n, "!!null") || decode(d, n, path)
	}
	return f
}

// isScalar reports whether n is a scalar with one of the YAML tags.
func isScalar(n *yaml.Node, tags ...string) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	for _, t := range tags {
		if n.ShortTag() == t {
			return true
		}
	}
	return false
}

// describe says what kind of node n is, for messages.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isScalar(n, "!!null"):
		return "empty"
	case len(n.Value) > maxText:
		return fmt.Sprintf("a string of %d bytes", len(n.Value))
	case isScalar(n, "!!str"):
		return fmt.Sprintf("the string %q", n.Value)
	default:
		return n.Value
	}
}
