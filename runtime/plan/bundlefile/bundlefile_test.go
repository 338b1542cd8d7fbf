package bundlefile_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
)

// text is what stands for a spec.
const text = "model: {}\n"

// sample is a file of two bundles that share their kernels, with PTX and a library.
func sample(t *testing.T) *bundlefile.File {
	t.Helper()
	f := &bundlefile.File{Spec: []byte(text), PTX: map[string][]byte{"yoututiny": []byte("ptx")}, Metal: map[string][]byte{"second": []byte("metal")}}
	for _, name := range []string{"yoututiny", "second"} {
		b := *bundle("yoututiny")
		hash := sha256.Sum256(f.Spec)
		b.Name, b.SpecHash = name, hex.EncodeToString(hash[:])
		f.Bundles = append(f.Bundles, &b)
	}
	return f
}

func encode(t *testing.T, f *bundlefile.File) []byte {
	t.Helper()
	data, err := bundlefile.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRoundTrip checks that a file is read as it was written, and that the same content gives the same bytes.
func TestRoundTrip(t *testing.T) {
	want := sample(t)
	data := encode(t, want)
	if !bytes.Equal(data, encode(t, sample(t))) {
		t.Error("other bytes for the same bundles")
	}
	path := filepath.Join(t.TempDir(), "x.mla")
	for range 2 { // a bundle file may replace one
		if err := bundlefile.Write(path, data); err != nil {
			t.Fatal(err)
		}
	}
	got, err := bundlefile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Path != path || string(got.Spec) != text || !reflect.DeepEqual(got.PTX, want.PTX) || !reflect.DeepEqual(got.Metal, want.Metal) || len(got.Bundles) != 2 {
		t.Errorf("%+v", got)
	}
	for i, b := range got.Bundles {
		if !reflect.DeepEqual(b, want.Bundles[i]) {
			t.Errorf("bundle %s was changed", b.Name)
		}
	}
	if n := bytes.Count(data, []byte("kernels/yoututiny.metal")); n != 2 { // in the entry and in the directory
		t.Errorf("%d names of kernels", n)
	}
	if got.Of("second") != got.Bundles[1] || got.Of("third") != nil {
		t.Error("Of finds another bundle")
	}
}

// TestWriteSpares checks that Write replaces bundle files only.
func TestWriteSpares(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.mla")
	if err := os.WriteFile(path, []byte("my notes"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := bundlefile.Write(path, encode(t, sample(t))); err == nil || !strings.Contains(err.Error(), "is no bundle file; give another name") {
		t.Errorf("%v", err)
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != "my notes" {
		t.Errorf("%q, %v", kept, err)
	}
	if err := bundlefile.Write(t.TempDir(), nil); err == nil {
		t.Error("a folder was replaced")
	}
}

// content is an archive as a list of entries.
type content []struct{ name, data string }

// unzip lists the entries of a file.
func unzip(t *testing.T, data []byte) (list content) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, struct{ name, data string }{f.Name, string(text)})
	}
	return list
}

// zipped makes an archive; its manifest is right if sealed.
func zipped(t testing.TB, list content, sealed bool) []byte {
	t.Helper()
	if sealed {
		list[0].data = seal(t, list)
	}
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for _, e := range list {
		w, err := z.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// seal is the manifest with the sizes and sums of the entries after it.
func seal(t testing.TB, list content) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(list[0].data), &m); err != nil {
		t.Fatal(err)
	}
	items := []any{}
	for _, e := range list[1:] {
		items = append(items, map[string]any{"name": e.name, "bytes": len(e.data), "sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(e.data)))})
	}
	m["entries"] = items
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestDamaged checks that a file with a changed byte or without its end is refused.
func TestDamaged(t *testing.T) {
	data := encode(t, sample(t))
	step := len(data)/150 + 1
	accepted := 0
	for at := 0; at < len(data); at += step {
		broken := bytes.Clone(data)
		broken[at] ^= 0x11
		if f, err := bundlefile.Decode(broken); err == nil {
			accepted++ // a date or an attribute of an entry: nothing that is read
			if !reflect.DeepEqual(f.Bundles[0], sample(t).Bundles[0]) {
				t.Errorf("byte %d changes the bundle", at)
			}
		}
		if _, err := bundlefile.Decode(data[:at]); err == nil {
			t.Errorf("%d of %d bytes are accepted", at, len(data))
		}
	}
	if accepted > 3 {
		t.Errorf("%d bytes make no difference", accepted)
	}
}

// TestRefuses checks well-formed archives that are not valid bundle files.
func TestRefuses(t *testing.T) {
	change := func(i int, old, new string) func(content) content {
		return func(l content) content {
			changed := strings.Replace(l[i].data, old, new, 1)
			if changed == l[i].data {
				panic("nothing to replace: " + old)
			}
			l[i].data = changed
			return l
		}
	}
	add := func(name string) func(content) content {
		return func(l content) content { return append(l, struct{ name, data string }{name, "x"}) }
	}
	for name, tt := range map[string]struct {
		change   func(content) content
		unsealed bool
		want     string
	}{
		"another version":     {change(0, `"version": 2`, `"version": 3`), false, "made by another version of mlagen, for another version of this program (format 3, not 2)"},
		"no version":          {change(0, `"version"`, `"Revision"`), false, "made by another version"},
		"another schema":      {change(0, `"schema": "`, `"schema": "0`), false, "made by another version of mlagen, for another version of this program (its tables have another form)"},
		"an unknown key":      {change(0, `"version": 2`, `"version": 2, "more": 2`), false, `unknown field "more"`},
		"no manifest":         {func(l content) content { l[0].data = "x"; return l }, true, "mla.json: "},
		"another sum":         {change(1, "model", "Model"), true, `entry "spec.yaml" is not what mla.json says of entry 0: damaged`},
		"another spec":        {change(1, "model", "Model"), false, `bundle "yoututiny" is not of spec.yaml`},
		"an entry too many":   {add("more"), true, "6 entries; mla.json lists 5"},
		"an unknown entry":    {add("more"), false, `entry "more" is not known`},
		"two of a name":       {add("ptx/yoututiny.ptx.gz"), false, `entry "ptx/yoututiny.ptx.gz" is there twice`},
		"PTX of nobody":       {add("ptx/other.ptx.gz"), false, `an entry for "other", which is no bundle of the file`},
		"a library of nobody": {add("metallib/other.metallib"), false, `an entry for "other"`},
		"kernels of nobody":   {add("kernels/other.metal"), false, "an entry with kernels of no bundle"},
		"no kernels":          {func(l content) content { return append(l[:3], l[4:]...) }, false, `there is no entry "kernels/yoututiny.metal"`},
		"plan before spec":    {func(l content) content { l[1], l[2] = l[2], l[1]; return l }, false, "expected the entries spec.yaml and plan.json first"},
		"no plan":             {func(l content) content { return l[:2] }, false, "expected the entries"},
		"no bundles":          {func(l content) content { l[2].data = "[]"; return l }, false, "0 bundles; expected 1 to 16"},
		"no JSON":             {func(l content) content { l[2].data = "["; return l }, false, "plan.json: "},
		"twice the same":      {change(2, `"Name":"second"`, `"Name":"yoututiny"`), false, `two bundles are named "yoututiny"`},
		"a hostile plan":      {change(2, `"Threads":128`, `"Threads":99999`), false, "99999 threads; expected a multiple of 32"},
		"a hash alone":        {change(2, `"Name":"second"`, `"SourceHash":"00","Name":"second"`), false, `bundle "second" has a hash in place of its source`},
		"an unknown field":    {change(2, `"Threads"`, `"Strands"`), false, `unknown key "Strands"`},
		"many entries": {func(l content) content {
			for i := range 70 {
				l = add(fmt.Sprint(i))(l)
			}
			return l
		}, false, "an archive of 76 entries"},
	} {
		list := tt.change(unzip(t, encode(t, sample(t))))
		if _, err := bundlefile.Decode(zipped(t, list, !tt.unsealed)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %s", name, err, tt.want)
		}
	}
}

// TestVersion checks that the error for another version differs from the error for damage.
func TestVersion(t *testing.T) {
	list := unzip(t, encode(t, sample(t)))
	list[0].data = strings.Replace(list[0].data, `"version": 2`, `"version": 9`, 1)
	if _, err := bundlefile.Decode(zipped(t, list, true)); !errors.Is(err, bundlefile.ErrVersion) {
		t.Errorf("%v", err)
	}
}

// TestBomb: an entry that says to be larger than it is, or is larger than it says, is no
// way to more memory.
func TestBomb(t *testing.T) {
	list := unzip(t, encode(t, sample(t)))
	list[3].data = strings.Repeat("\n", 1<<28) // some kilobytes, compressed
	data := zipped(t, list, true)
	if len(data) > 1<<20 {
		t.Fatalf("%d bytes", len(data))
	}
	if _, err := bundlefile.Decode(data); err == nil || !strings.Contains(err.Error(), "expected at most 16777216") {
		t.Errorf("%v", err)
	}
}

// TestOpenErrors: what cannot be a bundle file, and what helps.
func TestOpenErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.mla")
	if err := os.WriteFile(bad, []byte("PK\x03\x04 and no more"), 0o644); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe.mla")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := bundlefile.Write(pipe, nil); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a pipe is written to: %v", err)
	}
	for path, want := range map[string]string{
		bad:         bad + ": no bundle file; make it again: mlagen -gguf MODEL.gguf -o " + bad,
		t.TempDir(): "is not a regular file",
		"gone.mla":  "no such file",
		pipe:        "is not a regular file",
		"/dev/zero": "is not a regular file",
	} {
		if _, err := bundlefile.Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", path, err, want)
		}
	}
}

// TestEncodeRefuses checks that no file is written that could not be read.
func TestEncodeRefuses(t *testing.T) {
	f := sample(t)
	f.Bundles[1].Kernels = nil
	if _, err := bundlefile.Encode(f); err == nil || !strings.Contains(err.Error(), "would not be readable") {
		t.Errorf("%v", err)
	}
	f = sample(t)
	f.PTX["nobody"] = nil
	if _, err := bundlefile.Encode(f); err == nil {
		t.Error("PTX of no bundle was written")
	}
}

func TestBeside(t *testing.T) {
	for model, want := range map[string]string{"/m/my.gguf": "/m/my.mla", "a-00002-of-00003.gguf": "a.mla", "x": "x.mla"} {
		if got := bundlefile.Beside(model); got != want {
			t.Errorf("%s beside %s; want %s", got, model, want)
		}
	}
}

// FuzzDecode: whatever the bytes are, what is returned can be run through the lists of its
// plan, and is the same when it is written again.
func FuzzDecode(f *testing.F) {
	data, err := bundlefile.Encode(smallest(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := bundlefile.Decode(data)
		if err != nil {
			return
		}
		if _, err := bundlefile.Encode(file); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzPlan does the same with the text of plan.json alone, which an archive's sums protect
// from a fuzzer.
func FuzzPlan(f *testing.F) {
	data, err := bundlefile.Encode(smallest(f))
	if err != nil {
		f.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		f.Fatal(err)
	}
	var list content
	for _, file := range z.File {
		r, err := file.Open()
		if err != nil {
			f.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			f.Fatal(err)
		}
		list = append(list, struct{ name, data string }{file.Name, string(text)})
	}
	f.Add(list[2].data)
	f.Fuzz(func(t *testing.T, plan string) {
		own := append(content{}, list...)
		own[2].data = plan
		file, err := bundlefile.Decode(zipped(t, own, true))
		if err != nil {
			return
		}
		if _, err := bundlefile.Encode(file); err != nil {
			t.Fatal(err)
		}
	})
}

// smallest is a file of one bundle with a short source.
func smallest(f *testing.F) *bundlefile.File {
	b := *bundle("yoututiny")
	hash := sha256.Sum256([]byte(text))
	b.SpecHash, b.Source = hex.EncodeToString(hash[:]), "kernel void f();\n"
	return &bundlefile.File{Spec: []byte(text), Bundles: []*plan.Bundle{&b}}
}
