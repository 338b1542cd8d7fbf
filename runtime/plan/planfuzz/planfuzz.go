// Package planfuzz makes hostile plans for tests: plans with random changes (Mutate), and well-formed plans
// that are wrong about their kernels (Liars). The plans that package verify accepts must be safe to run on
// every device: wrong results and errors are allowed, access to foreign memory and panics are not.
package planfuzz

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"mla/runtime/plan"
	"mla/runtime/plan/planjson"
	"mla/runtime/plan/verify"
)

// Files maps compiled bundles, which have all kinds of parts together, to their models; paths are in the
// module's folder.
var Files = map[string]string{
	"yoututiny":    "testdata/reference/youtu-tiny-F32.gguf",
	"youtumini":    "testdata/reference/youtu-mini-Q4_K_M.gguf",
	"glm47tiny":    "testdata/reference/glm47-tiny-Q4_0.gguf",
	"dsv2litemini": "testdata/reference/dsv2lite-mini-Q4_K_M.gguf",
}

// Copy returns a deep copy of a bundle.
func Copy(b *plan.Bundle) (*plan.Bundle, error) {
	text, err := planjson.Marshal([]*plan.Bundle{b})
	if err != nil {
		return nil, fmt.Errorf("copy of bundle %s: %w", b.Name, err)
	}
	list, err := planjson.Unmarshal(text)
	if err != nil {
		return nil, fmt.Errorf("copy of bundle %s: %w", b.Name, err)
	}
	return list[0], nil
}

// Accepted changes a copy of a bundle step by step, keeps the changes that package verify accepts, and says
// what they were; nil: verify has accepted none.
func Accepted(rng *rand.Rand, b *plan.Bundle, steps int) (accepted *plan.Bundle, what string, err error) {
	for range steps {
		next, err := Copy(b)
		if err != nil {
			return nil, "", err
		}
		change := Mutate(rng, next)
		if verify.Bundle(next) == nil {
			b, accepted, what = next, next, fmt.Sprint(what, " ", change)
		}
	}
	return accepted, what, nil
}

// sequences lists pointers to the non-empty lists of dispatches of a bundle.
func sequences(b *plan.Bundle) (list []*[]plan.Dispatch) {
	all := []*[]plan.Dispatch{&b.Pick}
	for i := range b.Sequences {
		all = append(all, &b.Sequences[i].Dispatches)
	}
	for _, q := range all {
		if len(*q) > 0 {
			list = append(list, q)
		}
	}
	return list
}

// settle gives the kernels for single classes the slots and parts of the kernels that they replace.
func settle(b *plan.Bundle) {
	for i := range b.Kernels {
		k := &b.Kernels[i]
		if k.Class == "" {
			continue
		}
		base := &b.Kernels[k.Instead]
		k.Slots, k.Args, k.Parts, k.Threads = base.Slots, base.Args, base.Parts, base.Threads
	}
}

// numbers calls visit for every signed integer inside a value.
func numbers(v reflect.Value, visit func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			numbers(v.Elem(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			numbers(v.Field(i), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			numbers(v.Index(i), visit)
		}
	case reflect.Int, reflect.Int64:
		visit(v)
	}
}
