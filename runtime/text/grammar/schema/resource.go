package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// place is a schema within a text.
type place struct {
	schema *object // nil: true or false, see always
	always bool
	path   string // a JSON pointer
	scope  *scope
}

// scope is the resources through which references have led, the first one last. Each occurs once, which
// bounds the number of scopes.
type scope struct {
	resource *resource
	outer    *scope
}

// resource is a schema with an address ($id) of its own.
type resource struct {
	base    *url.URL
	root    place
	anchors map[string]place
	dynamic map[string]place
}

// resources is the resources of a text.
type resources struct {
	byURL  map[string]*resource
	of     map[*object]*resource
	scopes map[scope]*scope
}

// load finds the resources and anchors of a text, and returns the place of its root.
func (r *resources) load(root any) place {
	r.byURL, r.of, r.scopes = map[string]*resource{}, map[*object]*resource{}, map[scope]*scope{}
	base, _ := url.Parse("")
	first := &resource{base: base, anchors: map[string]place{}, dynamic: map[string]place{}}
	r.byURL[""] = first
	r.walk(root, "#", first, true)
	first.root = r.sub(place{scope: nil}, root, "#")
	if s, ok := root.(*object); ok {
		first = r.of[s]
	}
	first.root.scope = r.enter(nil, first)
	return first.root
}

// walk records what a value and its members declare. Within enum and const nothing is declared.
func (r *resources) walk(v any, path string, in *resource, schema bool) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			r.walk(e, path+"/"+strconv.Itoa(i), in, true)
		}
	case *object:
		if id, ok := v.get("$id").(string); ok && schema {
			if u, err := in.base.Parse(id); err == nil {
				u.Fragment = ""
				if known := r.byURL[u.String()]; known == nil || path != "#" {
					in = &resource{base: u, anchors: map[string]place{}, dynamic: map[string]place{}}
				}
				in.root = place{schema: v, path: path}
				if r.byURL[u.String()] == nil {
					r.byURL[u.String()] = in
				}
			}
		}
		r.of[v] = in
		at := place{schema: v, path: path}
		if name, ok := v.get("$anchor").(string); ok && schema {
			in.anchors[name] = at
		}
		if name, ok := v.get("$dynamicAnchor").(string); ok && schema {
			in.anchors[name], in.dynamic[name] = at, at
		}
		for _, k := range v.keys {
			if k != "enum" && k != "const" {
				r.walk(v.get(k), pointer(path, k), in, !(schema && named[k]))
			}
		}
	}
}

// named is keywords whose members are names instead of keywords.
var named = map[string]bool{"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true, "dependencies": true}

func pointer(path, key string) string {
	return path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// sub is the place of a schema within another one.
func (r *resources) sub(in place, v any, path string) place {
	p := place{path: path, scope: in.scope}
	switch v := v.(type) {
	case bool:
		p.always = v
	case *object:
		p.schema = v
		if to := r.of[v]; to != nil && in.scope != nil && to != in.scope.resource {
			p.scope = r.enter(in.scope, to)
		}
	}
	return p
}

// enter is the scope inside a resource. Resources that were left remain in it, further out.
func (r *resources) enter(s *scope, to *resource) *scope {
	var list []*resource
	for at := s; at != nil; at = at.outer {
		list = append(list, at.resource)
	}
	slices.Reverse(list)
	// Of the resources on the way here, only the first visit of each matters; the last one is the schema's
	// own.
	var kept []*resource
	for _, one := range append(list, to) {
		if !slices.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	var out *scope
	for _, one := range kept {
		out = r.scope(one, out)
	}
	if out.resource != to {
		out = r.scope(to, out)
	}
	return out
}

func (r *resources) scope(to *resource, outer *scope) *scope {
	key := scope{to, outer}
	if r.scopes[key] == nil {
		r.scopes[key] = &key
	}
	return r.scopes[key]
}

// refer is the place that a reference names.
func (r *resources) refer(from place, name string) (place, error) {
	base := from.scope.resource
	if from.schema != nil && r.of[from.schema] != nil {
		base = r.of[from.schema]
	}
	u, err := base.base.Parse(name)
	if err != nil {
		return place{}, fmt.Errorf("%q is no reference", name)
	}
	fragment := u.Fragment
	u.Fragment = ""
	in := base
	if !strings.HasPrefix(name, "#") && name != "" {
		if in = r.byURL[u.String()]; in == nil {
			return place{}, &UnsupportedError{from.path, "$ref", fmt.Sprintf("there is no %q in the schema, and nothing else is read", name)}
		}
	}
	to, err := r.fragment(in, fragment, name)
	if err != nil {
		return place{}, err
	}
	if to.schema != nil && r.of[to.schema] != nil {
		in = r.of[to.schema]
	}
	to.scope = r.enter(from.scope, in)
	return to, nil
}

func (r *resources) fragment(in *resource, fragment, name string) (place, error) {
	missing := fmt.Errorf("there is no %q in the schema", name)
	if fragment == "" {
		if in.root.path == "" {
			in.root.path = "#"
		}
		return in.root, nil
	}
	if !strings.HasPrefix(fragment, "/") {
		at, ok := in.anchors[fragment]
		if !ok {
			return at, missing
		}
		return at, nil
	}
	var v any = in.root.schema
	path := in.root.path
	for _, key := range strings.Split(fragment, "/")[1:] {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		path = pointer(path, key)
		found := false
		switch at := v.(type) {
		case *object:
			v, found = at.get(key), at.has(key)
		case []any:
			i, err := strconv.Atoi(key)
			if found = err == nil && i >= 0 && i < len(at); found {
				v = at[i]
			}
		}
		if !found {
			return place{}, missing
		}
	}
	switch v.(type) {
	case bool, *object:
	default:
		return place{}, fmt.Errorf("%q is no schema", name)
	}
	return r.sub(place{}, v, path), nil
}

// dynamicRefer is the place that a dynamic reference names: if the static target is a dynamic anchor, that of
// the outermost resource with this anchor.
func (r *resources) dynamicRefer(from place, name string) (place, error) {
	to, err := r.refer(from, name)
	if err != nil {
		return to, err
	}
	_, anchor, _ := strings.Cut(name, "#")
	if at, ok := to.scope.resource.dynamic[anchor]; !ok || at.schema != to.schema {
		return to, nil
	}
	for at := from.scope; at != nil; at = at.outer {
		if p, ok := at.resource.dynamic[anchor]; ok {
			to = p
			to.scope = r.enter(from.scope, at.resource)
		}
	}
	return to, nil
}
