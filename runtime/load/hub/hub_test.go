package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// fakeHub is a hub with some files; a test changes how it answers.
type fakeHub struct {
	*httptest.Server
	files    map[string][]byte
	plain    map[string]bool // not in LFS
	listing  func(w http.ResponseWriter, text []byte)
	content  func(w http.ResponseWriter, r *http.Request, data []byte)
	requests atomic.Int32
	ranges   []string
	tokens   []string
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// text is deterministic, and different at every place.
func text(n int) []byte {
	data := make([]byte, 0, n+8)
	for i := 0; len(data) < n; i++ {
		data = fmt.Appendf(data, "%07d\n", i)
	}
	return data[:n]
}

func newFakeHub(t *testing.T, files map[string][]byte) *fakeHub {
	h := &fakeHub{files: files, plain: map[string]bool{}}
	h.listing = func(w http.ResponseWriter, text []byte) { _, _ = w.Write(text) }
	h.content = serve
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// serve answers as the hub's storage does.
func serve(w http.ResponseWriter, r *http.Request, data []byte) {
	w.Header().Set("ETag", `"storage"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(data)))
}

func (h *fakeHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.requests.Add(1)
	h.tokens = append(h.tokens, r.Header.Get("Authorization"))
	if r.URL.Path == "/api/models/u/r/revision/main" && r.URL.Query().Get("blobs") == "true" {
		h.listing(w, h.list())
		return
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/u/r/resolve/"+commit+"/")
	data, known := h.files[name]
	if !ok || !known {
		http.NotFound(w, r)
		return
	}
	h.ranges = append(h.ranges, r.Header.Get("Range"))
	h.content(w, r, data)
}

func (h *fakeHub) list() []byte {
	a := map[string]any{"sha": commit}
	var siblings []any
	for name, data := range h.files {
		s := map[string]any{"rfilename": name, "size": len(data), "blobId": gitSum(data)}
		if !h.plain[name] {
			s["lfs"] = map[string]any{"sha256": sum(data), "size": len(data), "pointerSize": 130}
		}
		siblings = append(siblings, s)
	}
	a["siblings"] = siblings
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return text
}

func gitSum(data []byte) string {
	h := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
	return hex.EncodeToString(h[:])
}

// client is one of the hub with a cache of its own, that waits for little.
func (h *fakeHub) client(t *testing.T) *Client {
	env := map[string]string{"HF_ENDPOINT": h.URL + "/", "HF_HOME": t.TempDir()}
	c, err := FromEnv(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	c.Pause, c.Stall = time.Millisecond, 10*time.Second
	return c
}

func model1(data []byte) map[string][]byte { return map[string][]byte{"m-Q4_K_M.gguf": data} }

// loads is Model, with a limit on the time.
func loads(t *testing.T, c *Client, name string) (string, error) {
	t.Helper()
	r, err := Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	path, err := c.Model(ctx, r)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%s hangs", name)
	}
	return path, err
}

// holds fails unless the file at path is a link into blobs with the data.
func (c *Client) holds(t *testing.T, path string, data []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != string(data) {
		t.Fatalf("%d bytes, %v; want %d", len(got), err, len(data))
	}
	if to, err := os.Readlink(path); err != nil || !strings.HasPrefix(filepath.ToSlash(to), "../../") || !strings.Contains(to, "/blobs/") {
		t.Errorf("%s is a link to %q, %v", path, to, err)
	}
}

// TestModel: a file is loaded once, in the hub's layout, and found again without a network.
func TestModel(t *testing.T) {
	data := text(3 << 19)
	h := newFakeHub(t, map[string][]byte{"sub/m-Q4_K_M.gguf": data, "m-Q8_0.gguf": []byte("other"), "README.md": []byte("x")})
	c := h.client(t)
	var done, total int64
	c.Progress = func(d, of int64) { done, total = d, of }
	path, err := loads(t, c, "u/r:q4_k_m")
	if err != nil {
		t.Fatal(err)
	}
	c.holds(t, path, data)
	root := filepath.Join(c.Cache, "models--u--r")
	if want := filepath.Join(root, "snapshots", commit, "sub", "m-Q4_K_M.gguf"); path != want {
		t.Errorf("%s; want %s", path, want)
	}
	if ref, err := os.ReadFile(filepath.Join(root, "refs", "main")); err != nil || string(ref) != commit {
		t.Errorf("refs/main has %q, %v", ref, err)
	}
	if info, err := os.Stat(filepath.Join(root, "blobs", sum(data))); err != nil || info.Size() != int64(len(data)) {
		t.Error(err)
	}
	if done != total || total != int64(len(data)) {
		t.Errorf("progress ended at %d of %d", done, total)
	}
	n := h.requests.Load()
	for _, name := range []string{"u/r:Q4_K_M", "u/r", "u/r:sub/m-Q4_K_M.gguf"} {
		if again, err := loads(t, c, name); err != nil || again != path {
			t.Errorf("%s: %s, %v", name, again, err)
		}
	}
	if c.Offline = true; h.requests.Load() != n {
		t.Error("what is in the cache is asked for")
	}
	if _, err := loads(t, c, "u/r:Q8_0"); err == nil || !strings.Contains(err.Error(), "HF_HUB_OFFLINE forbids") || h.requests.Load() != n {
		t.Errorf("%v; want that it is not there, without a request", err)
	}
}

// TestParts: all parts of a split model lie side by side; one that lacks a part is refused.
func TestParts(t *testing.T) {
	files := map[string][]byte{}
	for i := 1; i <= 3; i++ {
		files[fmt.Sprintf("Q8_0/m-Q8_0-%05d-of-00003.gguf", i)] = text(1000 * i)
	}
	h := newFakeHub(t, files)
	h.plain["Q8_0/m-Q8_0-00002-of-00003.gguf"] = true // git's checksum
	c := h.client(t)
	path, err := loads(t, c, "u/r:Q8_0")
	if err != nil || filepath.Base(path) != "m-Q8_0-00001-of-00003.gguf" {
		t.Fatal(path, err)
	}
	for name, data := range files {
		c.holds(t, filepath.Join(filepath.Dir(path), filepath.Base(name)), data)
	}
	// Without one of them the cache does not have the model.
	if err := os.Remove(filepath.Join(filepath.Dir(path), "m-Q8_0-00002-of-00003.gguf")); err != nil {
		t.Fatal(err)
	}
	if path, err := (c.repo(Ref{"u", "r", ""})).find(Ref{"u", "r", "Q8_0"}); err == nil {
		t.Errorf("half a model is found: %s", path)
	}
	delete(files, "Q8_0/m-Q8_0-00003-of-00003.gguf")
	if _, err := loads(t, h.client(t), "u/r:Q8_0"); err == nil || !strings.Contains(err.Error(), "has 2 of 3 parts") {
		t.Error(err)
	}
}

// TestHostileListings: names and sizes that cannot be are refused, and nothing is written
// outside of the cache.
func TestHostileListings(t *testing.T) {
	ok := `"size": 3, "lfs": {"sha256": "` + sum([]byte("abc")) + `", "size": 3}`
	for _, c := range []struct{ text, want string }{
		{`{"sha": "` + commit + `", "siblings": [{"rfilename": "../../evil.gguf", ` + ok + `}]}`, "is no path below it"},
		{`{"sha": "` + commit + `", "siblings": [{"rfilename": "/etc/evil.gguf", ` + ok + `}]}`, "is no path below it"},
		{`{"sha": "` + commit + `", "siblings": [{"rfilename": "a\\..\\evil.gguf", ` + ok + `}]}`, "is no path below it"},
		{`{"sha": "` + commit + `", "siblings": [{"rfilename": "a/./evil.gguf", ` + ok + `}]}`, "is no path below it"},
		{`{"sha": "` + commit + `", "siblings": [{"rfilename": "a\u001b[2J.gguf", ` + ok + `}]}`, "is no path below it"},
		{`{"sha": "../../x", "siblings": []}`, "names the commit"},
		{`{"sha": "` + commit + `", "siblings": [{"rfilename": "a.gguf", "size": 3, "lfs": {"sha256": "../../../x", "size": 3}}]}`, "checksum"},
		{`{"sha": "` + commit + `", "siblings": [{"rfilename": "a.gguf", "size": -3, "blobId": "` + commit + `"}]}`, "has -3 bytes"},
		{`{"sha": "` + commit + `", "siblings": [{"rfilename": "a.gguf", "size": 9223372036854775807, "blobId": "` + commit + `"}]}`, "bytes and the checksum"},
		{`{"sha": "` + commit + `", "siblings": [{"rfilename": "a.gguf", "size": 8000000000000, "blobId": "` + commit + `"}]}`, "GB are free"},
		{`{"sha": "` + commit + `", "siblings": []}`, "no GGUF file"},
		{`{"sha": "` + commit + `", "siblings": [{"rfilename": "m.gguf-split-a", ` + ok + `}]}`, "join them with cat"},
		{`[`, "cannot be read"},
		{strings.Repeat(" ", maxListing+1), "more than 32 MiB"},
	} {
		h := newFakeHub(t, nil)
		h.listing = func(w http.ResponseWriter, _ []byte) { _, _ = w.Write([]byte(c.text)) }
		if _, err := loads(t, h.client(t), "u/r"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.150s: %v; want %q", c.text, err, c.want)
		}
	}
}

func FuzzListing(f *testing.F) {
	f.Add(`{"sha": "`+commit+`", "siblings": [{"rfilename": "a-Q4_0.gguf", "size": 3, "lfs": {"sha256": "`+sum(nil)+`", "size": 3}}]}`, "Q4_0")
	f.Add(`{"sha": "`+commit+`", "siblings": [{"rfilename": "../../a.gguf", "size": 3, "blobId": "`+commit+`"}, {"rfilename": "b-00001-of-99999.gguf", "size": 1, "blobId": "`+commit+`"}]}`, "")
	f.Fuzz(func(t *testing.T, text, quant string) {
		l, err := parseListing([]byte(text))
		if err != nil {
			return
		}
		m, err := choose(l.files, quant)
		if err != nil {
			return
		}
		r := repo{dir: "/cache/models--u--r"}
		for _, file := range m.files {
			if path := r.path(l.commit, file.path); !strings.HasPrefix(path, r.snapshot(l.commit)+"/") || filepath.Clean(path) != path {
				t.Errorf("%q leaves the cache", path)
			}
			if path := r.blob(file.etag); filepath.Dir(path) != r.dir+"/blobs" || file.size < 1 {
				t.Errorf("%q of %d bytes", path, file.size)
			}
		}
	})
}

func FuzzRef(f *testing.F) {
	for _, s := range []string{"u/r", "hf://u/r:Q4_K_M", "u/r:a/b.gguf", "../../..", "u/r:../../x.gguf"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Errorf("%q is %v, and that %v, %v", text, r, again, err)
		}
		c := &Client{Cache: "/cache", Endpoint: "https://h"}
		if dir := c.repo(r).dir; filepath.Dir(dir) != "/cache" {
			t.Errorf("%q is kept in %s", text, dir)
		}
		if strings.Contains(c.apiURL(r), "..") {
			t.Errorf("%q asks for %s", text, c.apiURL(r))
		}
	})
}
