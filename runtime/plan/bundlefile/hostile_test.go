package bundlefile_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
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

// TestLargeEntries: each kind of entry has its own limit, which is looked at before it is unpacked.
func TestLargeEntries(t *testing.T) {
	for entry, size := range map[int]int{0: 1 << 20, 1: 1 << 20, 2: 1 << 26, 3: 1 << 24, 4: 1 << 25} {
		for _, filling := range []string{"\x00", "\n", "a"} {
			list := unzip(t, encode(t, sample(t)))
			list[entry].data = strings.Repeat(filling, size+1)
			data := zipped(t, list, entry > 0) // which writes the manifest anew
			before := allocated()
			want := fmt.Sprintf("entry %q: %d bytes; expected at most %d", list[entry].name, size+1, size)
			if _, err := bundlefile.Decode(data); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %s", err, want)
			}
			if n := allocated() - before; n > 16<<20 {
				t.Errorf("%s of %q: %d bytes were allocated", list[entry].name, filling, n)
			}
		}
	}
}

// allocated is how many bytes this process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
