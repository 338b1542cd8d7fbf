package sources_test

import (
	"slices"
	"strings"
	"testing"

	"mla/sim/mutate/sources"
)

const root = "../../.."

const text = `package p

func (p *pool[T]) put(v T) error {
	defer p.lock()()
	if len(p.list) >= 8 {
		return full
	}
	if err := p.check(v); err != nil {
		return err
	}
	p.list = append(p.list, v)
	n := len(p.list)
	p.count(n)
	return nil
}
`

// TestIn checks the IDs and the changed texts of all mutations of a file.
func TestIn(t *testing.T) {
	want := map[string]string{
		"p.go/pool.put/drop/defer_p.lock()()":                                "error {\n\t\n\tif",
		"p.go/pool.put/drop/if_len(p.list)_>=_8_{_return_full_}":             "defer p.lock()()\n\t\n\tif err",
		"p.go/pool.put/bound>/len(p.list)_>=_8":                              "len(p.list) > 8",
		"p.go/pool.put/negate/len(p.list)_>=_8":                              "!(len(p.list) >= 8)",
		"p.go/pool.put/number/8":                                             ">= 9 {",
		"p.go/pool.put/bound==/err_!=_nil":                                   "err == nil",
		"p.go/pool.put/drop/p.list_=_append(p.list,_v)":                      "\t\n\tn :=",
		"p.go/pool.put/drop/p.count(n)":                                      "\t\n\treturn nil",
		"p.go/pool.put/drop/if_err_:=_p.check(v);_err_!=_nil_{_return_err_}": "}\n\t\n\tp.list",
	}
	found, err := sources.In("p.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		if want[m.ID] == "" || !strings.Contains(string(m.Text), want[m.ID]) || strings.Contains(text, want[m.ID]) {
			t.Errorf("%s: expected %q in\n%s", m.ID, want[m.ID], m.Text)
		}
		delete(want, m.ID)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// TestRuntime finds the places of the named mistakes, and distinct IDs for all.
func TestRuntime(t *testing.T) {
	all, err := sources.Named(root)
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := sources.InKernels(root)
	if err != nil {
		t.Fatal(err)
	}
	found, err := sources.List(root, "runtime/device/metal", "runtime/device/metal/mtl")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range slices.Concat(all, kernels, found) {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) || n < 500 {
		t.Errorf("%d distinct IDs of %d", n, len(ids))
	}
}
