//go:build linux

package metal_test

import (
	"os"
	"strings"
	"testing"

	"mla/runtime/device/metal/mtl"
)

// TestSelectors checks that the simulator implements every message in the runtime's table, with the same
// types and since the same version of macOS, and that it exports the C functions.
func TestSelectors(t *testing.T) {
	s, err := load(os.Getenv(libVariable))
	if err != nil {
		t.Fatal(err)
	}
	type key struct{ class, name string }
	type value struct{ types, since string }
	methods := map[key]value{}
	for _, line := range strings.Split(strings.TrimSpace(s.methods()), "\n") {
		f := strings.Split(line, "\t")
		methods[key{f[0], f[1]}] = value{f[2], f[3]}
	}
	for _, want := range mtl.Selectors {
		got, ok := methods[key{want.Class, want.Name}]
		if !ok {
			t.Errorf("%s %s is missing", want.Class, want.Name)
			continue
		}
		if got != (value{want.Encoding(), want.Since}) {
			t.Errorf("%s %s: %v, the table has %s since %s", want.Class, want.Name, got, want.Encoding(), want.Since)
		}
	}
	for _, f := range mtl.Functions {
		if !s.exports(f.Name) {
			t.Errorf("function %s is missing", f.Name)
		}
	}
}
