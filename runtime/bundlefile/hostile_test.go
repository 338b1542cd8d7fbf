package bundlefile_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/bundlefile"
	"mla/runtime/plan"
	"mla/runtime/plan/planjson"
	"mla/runtime/plan/verify"
)

func bundle(name string) *plan.Bundle {
	all := generated.Bundles()
	return all[slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == name })]
}

// TestHostileFiles: bundle files of an attack are refused. Metal read out of bounds by the lists of experts of the
// first one; the second one made a worker of the CPU device panic. Package planfuzz makes more of their kinds.
func TestHostileFiles(t *testing.T) {
	for name, want := range map[string]string{
		"hostile_members.mla":        "marked as written",
		"hostile_panic_dsv2lite.mla": "run side by side",
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bundlefile.Decode(data); err == nil {
			t.Errorf("%s is accepted", name)
		}
		// The plan is looked at by itself, so that a new version of the format does not refuse the file for its age alone.
		list, err := planjson.Unmarshal(entryOf(t, data, "plan.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := verify.Bundle(list[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
}

// entryOf is an entry of an archive.
func entryOf(t *testing.T, data []byte, name string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
