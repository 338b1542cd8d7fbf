package hub

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// parts writes a model in two parts whose first header has about size bytes.
func parts(t *testing.T, size int) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for i, name := range []string{"m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf"} {
		meta := []gguf.KV{{Key: "split.no", Value: gguf.Uint16(uint16(i))}, {Key: "split.count", Value: gguf.Uint16(2)}, {Key: "split.tensors.count", Value: gguf.Int32(2)}}
		if i == 0 {
			meta = append(meta, gguf.KV{Key: "long", Value: gguf.String(strings.Repeat("x", size))})
		}
		path := filepath.Join(t.TempDir(), name)
		w, err := gguf.NewWriter(path, meta, []gguf.TensorInfo{{Name: name[:15], Type: quant.Q8_0, Dims: []uint64{32, 1 << 16}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteTensor(name[:15], func(w io.Writer) error { _, err := w.Write(make([]byte, 34<<16)); return err }); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if files[name], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestLook: the header is seen before anything is loaded, in pieces of what it takes, and an
// error ends it.
func TestLook(t *testing.T) {
	for _, size := range []int{10, 3 << 20} {
		h := newFakeHub(t, parts(t, size))
		c := h.client(t)
		refused := errors.New("no")
		c.Look = func(f *gguf.File, bytes int64) error {
			long, _, err := f.String("long")
			if err != nil || len(long) != size || len(f.Tensors) != 2 || f.Tensors[1].Size != 34<<16 || bytes != int64(len(h.files["m-Q8_0-00001-of-00002.gguf"])+len(h.files["m-Q8_0-00002-of-00002.gguf"])) {
				t.Errorf("%d bytes of %d, %d tensors, %v", len(long), bytes, len(f.Tensors), err)
			}
			return refused
		}
		if _, err := loads(t, c, "u/r"); !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
		if blobs, _ := filepath.Glob(filepath.Join(c.Cache, "models--u--r", "blobs", "*")); len(blobs) > 0 {
			t.Errorf("loaded %q", blobs)
		}
		want := "bytes=0-1048575 bytes=0-1048575"
		if size > 1<<20 {
			want = "bytes=0-1048575 bytes=1048576-4194303 bytes=0-1048575"
		}
		if got := strings.Join(h.ranges, " "); got != want {
			t.Errorf("%s; want %s", got, want)
		}
		refused = nil
		if _, err := loads(t, c, "u/r"); err != nil {
			t.Error(err)
		}
	}
}

// TestLookServers: servers that send all, or too little, and files that are no models.
func TestLookServers(t *testing.T) {
	seen := 0
	look := func(*gguf.File, int64) error { seen++; return nil }
	h := newFakeHub(t, parts(t, 3<<20))
	h.content = func(w http.ResponseWriter, r *http.Request, data []byte) { // knows no ranges
		r.Header.Del("Range")
		serve(w, r, data)
	}
	c := h.client(t)
	c.Look = look
	if _, err := loads(t, c, "u/r"); err != nil || seen != 1 {
		t.Errorf("%v, seen %d times", err, seen)
	}
	for _, tt := range []struct{ data, want string }{
		{"<!doctype html>", "web page"},
		{"GGUF\x03\x00\x00\x00", "tensor count"},
	} {
		h := newFakeHub(t, model1([]byte(tt.data)))
		c := h.client(t)
		c.Look = look
		if _, err := loads(t, c, "u/r"); err == nil || !strings.Contains(err.Error(), tt.want) || seen != 1 {
			t.Errorf("%v; want %s", err, tt.want)
		}
	}
}

// TestNoNetwork checks that a missing network gives an error of one sentence, at once.
func TestNoNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := newFakeHub(t, nil)
	c := h.client(t)
	c.Note = func(line string) { t.Errorf("a note: %s", line) }
	c.Endpoint = "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := loads(t, c, "u/r"); err == nil || !strings.Contains(err.Error(), "the hub cannot be reached: dial tcp") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

// TestPasted checks that texts which people paste are recognised as names of models.
func TestPasted(t *testing.T) {
	for text, want := range map[string]Ref{
		"hf.co/u/r":                                                    {"u", "r", ""},
		"hf.co/u/r:Q4_K_M":                                             {"u", "r", "Q4_K_M"},
		"https://huggingface.co/u/r":                                   {"u", "r", ""},
		"https://huggingface.co/u/r/":                                  {"u", "r", ""},
		"https://huggingface.co/u/r/tree/main":                         {"u", "r", ""},
		"https://huggingface.co/u/r/tree/main/Q8_0":                    {"u", "r", "Q8_0"},
		"https://huggingface.co/u/r/blob/main/m.gguf":                  {"u", "r", "m.gguf"},
		"https://huggingface.co/u/r/resolve/main/m.gguf?download=true": {"u", "r", "m.gguf"},
		"https://huggingface.co/u/r/resolve/main/a%20b/m.gguf#x":       {"u", "r", "a b/m.gguf"},
		"https://huggingface.co/u/r?show_file_info=m-Q4_0.gguf":        {"u", "r", "m-Q4_0.gguf"},
		"https://huggingface.co/u/r?local-app=llama.cpp":               {"u", "r", ""},
		"u/r/m.gguf":              {"u", "r", "m.gguf"},
		"hf://hf.co/u/r":          {"u", "r", ""},
		"https://hf.co/u":         {},
		"https://example.com/u/r": {},
		"https://huggingface.co/u/r/blob/main/README.md":    {},
		"https://huggingface.co/u/r/blob/v2/m.gguf":         {},
		"https://huggingface.co/u/r/discussions/3":          {},
		"https://huggingface.co/u/r/blob/main/../../m.gguf": {},
		"hf.co/u/r/%zz": {},
	} {
		got, err := Parse(text)
		if got != want || (err == nil) != (want != Ref{}) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}

// TestNamed checks that a file, or a folder where one could be, is not taken for a model of the hub.
func TestNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"models", "u2/r2"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]bool{
		"u/r": true, "u/r:Q4_K_M": true, "hf://u/r": true, "https://huggingface.co/u/r": true, "hf.co/models/r": true,
		"m.gguf": false, "u/m.gguf": false, "models/x": false, "u2/r2": false, "/u/r": false, "./u/r": false, "a/b/c": false, "": false,
	} {
		if _, ok, err := Named(text); ok != want || err != nil {
			t.Errorf("%q: %v, %v", text, ok, err)
		}
	}
}
