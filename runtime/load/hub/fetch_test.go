package hub

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cut sends some bytes of what is asked for and drops the connection.
func cut(w http.ResponseWriter, r *http.Request, data []byte, n int) {
	rec := httptest.NewRecorder()
	serve(rec, r, data)
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(rec.Code)
	body := rec.Body.Bytes()
	_, _ = w.Write(body[:min(n, len(body))])
	_ = http.NewResponseController(w).Flush()
	if n < len(body) {
		panic(http.ErrAbortHandler)
	}
}

// TestBrokenServers checks that failures which may be temporary are tried again, and that the download then
// succeeds.
func TestBrokenServers(t *testing.T) {
	data := text(3 << 19)
	type answer = func(w http.ResponseWriter, r *http.Request, data []byte)
	for _, c := range []struct {
		name    string
		first   []answer // then serve
		resumed bool     // the last request is for the rest alone
		stalls  bool
	}{
		{"cut", []answer{func(w http.ResponseWriter, r *http.Request, data []byte) { cut(w, r, data, 1<<20) }}, true, false},
		{"cut thrice", []answer{
			func(w http.ResponseWriter, r *http.Request, data []byte) { cut(w, r, data, 1) },
			func(w http.ResponseWriter, r *http.Request, data []byte) { cut(w, r, data, 3000) },
			func(w http.ResponseWriter, r *http.Request, data []byte) { cut(w, r, data, 0) }}, true, false},
		{"stalls in the middle", []answer{func(w http.ResponseWriter, r *http.Request, data []byte) {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data[:1<<20])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}}, true, true},
		{"stalls at the beginning", []answer{func(w http.ResponseWriter, r *http.Request, data []byte) { <-r.Context().Done() }}, false, true},
		{"429", []answer{func(w http.ResponseWriter, r *http.Request, data []byte) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}}, false, false},
		{"500", []answer{func(w http.ResponseWriter, r *http.Request, data []byte) { w.WriteHeader(500) }}, false, false},
		{"no ranges", []answer{
			func(w http.ResponseWriter, r *http.Request, data []byte) { cut(w, r, data, 1<<20) },
			func(w http.ResponseWriter, r *http.Request, data []byte) { _, _ = w.Write(data) }}, true, false},
		{"416", []answer{
			func(w http.ResponseWriter, r *http.Request, data []byte) { cut(w, r, data, 1<<20) },
			func(w http.ResponseWriter, r *http.Request, data []byte) { w.WriteHeader(416) }}, false, false},
		{"another file in between", []answer{ // If-Range: the storage begins anew
			func(w http.ResponseWriter, r *http.Request, data []byte) {
				w.Header().Set("ETag", `"old"`)
				w.Header().Set("Content-Length", strconv.Itoa(len(data)))
				_, _ = w.Write(make([]byte, 1<<20))
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}}, true, false},
	} {
		h := newFakeHub(t, model1(data))
		n := 0
		h.content = func(w http.ResponseWriter, r *http.Request, data []byte) {
			if n++; n <= len(c.first) {
				c.first[n-1](w, r, data)
				return
			}
			serve(w, r, data)
		}
		client := h.client(t)
		if c.stalls {
			client.Stall = 200 * time.Millisecond
		}
		var done int64
		client.Progress = func(d, _ int64) { done = d }
		path, err := loads(t, client, "u/r")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		client.holds(t, path, data)
		if last := h.ranges[len(h.ranges)-1]; (last != "") != c.resumed && !c.stalls {
			t.Errorf("%s: the last request is for %q", c.name, last)
		}
		if done != int64(len(data)) {
			t.Errorf("%s: progress ends at %d", c.name, done)
		}
	}
}

// TestRefusals checks that permanent failures are reported at once, with advice, and leave nothing that could
// be taken for the file.
func TestRefusals(t *testing.T) {
	data := text(1 << 20)
	header := func(name, value string, code int) func(http.ResponseWriter, *http.Request, []byte) {
		return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set(name, value)
			w.WriteHeader(code)
		}
	}
	for _, c := range []struct {
		name    string
		content func(w http.ResponseWriter, r *http.Request, data []byte)
		want    string
		most    int // requests for the content
	}{
		{"401", header("X-Error-Message", "Access is restricted", 401), "(Access is restricted)\nthe name may be wrong, or the model wants a token: set HF_TOKEN", 1},
		{"403", header("X-Error-Message", strings.Repeat("x", 300), 403), "403 Forbidden\nthe name may be wrong", 1},
		{"404", header("X", "", 404), "there is no such model", 1},
		{"410", header("X", "", 410), "410 Gone", 1},
		{"429 for an hour", header("Retry-After", "3600", 429), "come again in 1h0m0s", 1},
		{"429 for ever", header("Retry-After", "0", 429), "429 Too Many Requests", mostTries},
		{"503 for ever", header("X", "", 503), "503 Service Unavailable", mostTries},
		{"says it is shorter", func(w http.ResponseWriter, r *http.Request, data []byte) { _, _ = w.Write(data[:1000]) }, "about to send 1000 bytes; the hub lists 1048576", 1},
		{"says it is longer", func(w http.ResponseWriter, r *http.Request, data []byte) { serve(w, r, append(data, 1)) }, "about to send 1048577 bytes", 1},
		{"sends more", func(w http.ResponseWriter, r *http.Request, data []byte) {
			_ = http.NewResponseController(w).Flush() // so that no length is said
			_, _ = w.Write(append(data, 1))
		}, "more than the 1048576 bytes", 1},
		{"ends early, without a length", func(w http.ResponseWriter, r *http.Request, data []byte) {
			_ = http.NewResponseController(w).Flush()
		}, "ended after 0 of 1048576", mostTries},
		{"other content", func(w http.ResponseWriter, r *http.Request, data []byte) { _, _ = w.Write(make([]byte, len(data))) }, "its checksum is ", 1},
		{"another part", func(w http.ResponseWriter, r *http.Request, data []byte) {
			if r.Header.Get("Range") == "" {
				cut(w, r, data, 1000)
			}
			w.Header().Set("Content-Range", "bytes 0-1048575/1048576")
			w.WriteHeader(206)
		}, `what follows of 1048576, the server sends "bytes 0-`, 2},
		{"another file", header("X-Linked-Etag", `"`+strings.Repeat("a", 64)+`"`, 200), "the hub lists a file of checksum", 1},
		{"another size", header("X-Linked-Size", "7", 200), "the hub lists a file of 1048576 bytes and has one of", 1},
		{"a circle", func(w http.ResponseWriter, r *http.Request, data []byte) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, "goes on sending us elsewhere", mostRedirect},
	} {
		h := newFakeHub(t, model1(data))
		h.content = c.content
		client := h.client(t)
		path, err := loads(t, client, "u/r")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v; want %q", c.name, path, err, c.want)
		}
		if len(h.ranges) > c.most {
			t.Errorf("%s: %d requests; want %d at most", c.name, len(h.ranges), c.most)
		}
		if _, err := os.Stat(client.repo(Ref{"u", "r", ""}).blob(sum(data))); err == nil {
			t.Errorf("%s: there is a file of that checksum", c.name)
		}
		if links, _ := filepath.Glob(filepath.Join(client.Cache, "*", "snapshots", "*", "*")); len(links) > 0 {
			t.Errorf("%s: %v", c.name, links)
		}
	}
	// The same of the list.
	h := newFakeHub(t, nil)
	h.listing = func(w http.ResponseWriter, _ []byte) { w.WriteHeader(401) }
	if _, err := loads(t, h.client(t), "u/r"); err == nil || !strings.Contains(err.Error(), "set HF_TOKEN") {
		t.Error(err)
	}
}

// TestLaterRun checks that a run continues an interrupted one, and that wrong data is noticed.
func TestLaterRun(t *testing.T) {
	data := text(3 << 19)
	h := newFakeHub(t, model1(data))
	c := h.client(t)
	part := c.repo(Ref{"u", "r", ""}).blob(sum(data)) + unfinished
	if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		there []byte
		want  []string // ranges asked for
	}{
		{"a beginning", data[:1<<20], []string{"bytes=1048576-"}},
		{"all of it", data, nil},
		{"rubbish", make([]byte, 1<<20), []string{"bytes=1048576-", ""}},
		{"too much", append(data[:len(data):len(data)], 1), []string{""}},
		{"nothing", nil, []string{""}},
	} {
		if err := errors.Join(os.RemoveAll(strings.TrimSuffix(part, unfinished)), os.RemoveAll(filepath.Join(c.Cache, "models--u--r", "refs")), os.WriteFile(part, test.there, 0o644)); err != nil {
			t.Fatal(err)
		}
		h.ranges = nil
		path, err := loads(t, c, "u/r")
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		c.holds(t, path, data)
		if strings.Join(h.ranges, ",") != strings.Join(test.want, ",") || len(h.ranges) != len(test.want) {
			t.Errorf("%s: asked for %q; want %q", test.name, h.ranges, test.want)
		}
		if _, err := os.Stat(part); err == nil {
			t.Errorf("%s: %s is left", test.name, part)
		}
	}
}

// TestInterrupted checks that a cancelled run ends at once and leaves a partial file under another name.
func TestInterrupted(t *testing.T) {
	data := text(3 << 19)
	h := newFakeHub(t, model1(data))
	h.content = func(w http.ResponseWriter, r *http.Request, data []byte) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:1<<20])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	c := h.client(t)
	c.Stall = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	c.Progress = func(done, _ int64) {
		if done == 1<<20 {
			cancel()
		}
	}
	if _, err := c.Model(ctx, Ref{"u", "r", ""}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want that it was cancelled", err)
	}
	blob := c.repo(Ref{"u", "r", ""}).blob(sum(data))
	if info, err := os.Stat(blob + unfinished); err != nil || info.Size() != 1<<20 {
		t.Errorf("%v, %v", info, err)
	}
	c.Offline = true
	if path, err := loads(t, c, "u/r"); err == nil {
		t.Errorf("%s is found", path)
	}
}

// TestToken checks that the hub gets the token, and that the storage to which it redirects does not.
func TestToken(t *testing.T) {
	data := text(1000)
	storage := newFakeHub(t, nil)
	storage.files = map[string][]byte{"x": data}
	h := newFakeHub(t, model1(data))
	h.content = func(w http.ResponseWriter, r *http.Request, _ []byte) {
		w.Header().Set("X-Linked-Etag", `"`+sum(data)+`"`)
		http.Redirect(w, r, storage.URL+"/u/r/resolve/"+commit+"/x", http.StatusFound)
	}
	c := h.client(t)
	c.Token = "hf_secret"
	if _, err := loads(t, c, "u/r"); err != nil {
		t.Fatal(err)
	}
	if len(h.tokens) != 2 || h.tokens[0] != "Bearer hf_secret" || h.tokens[1] != "Bearer hf_secret" {
		t.Errorf("the hub gets %q", h.tokens)
	}
	if len(storage.tokens) != 1 || storage.tokens[0] != "" {
		t.Errorf("the storage gets %q", storage.tokens)
	}
}

// TestLock checks that two processes do not download the same file: the second one waits.
func TestLock(t *testing.T) {
	data := text(1000)
	h := newFakeHub(t, model1(data))
	c := h.client(t)
	repo := c.repo(Ref{"u", "r", ""})
	if err := repo.prepare(); err != nil {
		t.Fatal(err)
	}
	unlock, err := repo.lock(t.Context(), sum(data), c.note)
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan string, 1)
	c.Note = func(line string) { waits <- line }
	result := make(chan error, 1)
	go func() {
		_, err := c.Model(t.Context(), Ref{"u", "r", ""})
		result <- err
	}()
	if line := <-waits; !strings.Contains(line, "another program") {
		t.Error(line)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// TestUnreachable checks the errors without a server and without a name.
func TestUnreachable(t *testing.T) {
	h := newFakeHub(t, nil)
	c := h.client(t)
	h.Close()
	if _, err := loads(t, c, "u/r"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
	if !final(&net.DNSError{IsNotFound: true}) || final(&net.DNSError{IsTimeout: true}) {
		t.Error("a name that does not exist is tried again, or one that may is not")
	}
}

// TestFullDisk checks that the part which was written before the disk was full is kept under another name,
// and continued later.
func TestFullDisk(t *testing.T) {
	data := text(3 << 19)
	h := newFakeHub(t, model1(data))
	c := h.client(t)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	small := old
	small.Cur = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	path, err := loads(t, c, "u/r")
	if back := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); back != nil {
		t.Fatal(back)
	}
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "goes on with the 1048576 bytes") || len(h.ranges) != 1 {
		t.Errorf("%s, %v, after %d requests", path, err, len(h.ranges))
	}
	if path, err = loads(t, c, "u/r"); err != nil {
		t.Fatal(err)
	}
	c.holds(t, path, data)
	if last := h.ranges[len(h.ranges)-1]; last != "bytes=1048576-" {
		t.Errorf("the second run asks for %q", last)
	}
}

// TestOddRedirects checks that redirects to other schemes are refused, and not tried again.
func TestOddRedirects(t *testing.T) {
	data := text(1000)
	for _, to := range []string{"file:///etc/passwd", "gopher://127.0.0.1/x", "ftp://127.0.0.1/x", "javascript:x"} {
		h := newFakeHub(t, model1(data))
		asked := 0
		h.content = func(w http.ResponseWriter, r *http.Request, _ []byte) {
			asked++
			w.Header().Set("X-Linked-Etag", `"`+sum(data)+`"`)
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
		if _, err := loads(t, h.client(t), "u/r"); err == nil || asked != 1 {
			t.Errorf("%s: asked %d times, %v", to, asked, err)
		}
	}
}
