package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mla/generated"
)

func TestServeUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "-model is missing"},
		{"-model F -port 99999", "-port is 99999"},
		{"-model F -parallel 0", "-parallel is 0"},
		{"-model F -queue -1", "-queue is -1"},
		{"-model F -c -1", "-c is -1"},
		{"-model F -prompt-rows 0", "-prompt-rows is 0"},
		{"-model F -timeout 0s", "must be more than 0"},
		{"-model F -device-retries -1", "-device-retries must not be negative"},
		{"-model F -device-stuck 0s", "-device-stuck must be more than 0"},
		{"-model F -stop x", "there is no flag -stop"},
		{"-model F -api-key=", "it is empty"},
		{"-model F -prompt-cache-dir /nonexistent", "is no folder"},
		{"-model F -top-p 2", "top-p is 2"},
		{"-model F -", "unexpected argument"},
		{"-model F -models D", "in place of -model"},
		{"-models D -alias x", "in place of -model"},
		{"-model F -alias a,,b", "a name is empty"},
		{"-models D -models-idle -1s", "must not be negative"},
	} {
		if r := mlarun("", append([]string{"serve"}, strings.Fields(c.args)...)...); r.code != exitUsage || !strings.Contains(r.err, c.want) {
			t.Errorf("%q: %+v; expected %q", c.args, r, c.want)
		}
	}
	if r := mlarun("", "serve", "-model", shipped, "-c", "99999"); r.code != exitError || !strings.Contains(r.err, "-c is 99999; this model allows 1 to 2048") {
		t.Errorf("%+v", r)
	}
}

// lockedLog is a log that is read while it is written.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *lockedLog) find(pattern *regexp.Regexp) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return pattern.FindString(l.text.String())
}

// served runs a server for one completion, and returns its text and how many tokens of
// the prompt were found.
func served(t *testing.T, prompt string, args ...string) (text string, cached int) {
	t.Helper()
	texts, cached := asked(t, map[string]any{"prompt": prompt, "max_tokens": 24}, args...)
	return texts[0].Text, cached
}

// choice is an answer of a server.
type choice struct {
	Text   string
	Finish string `json:"finish_reason"`
}

// asked runs a server for one request.
func asked(t *testing.T, request map[string]any, args ...string) (choices []choice, cached int) {
	t.Helper()
	log := &lockedLog{}
	e := &env{in: strings.NewReader(""), out: io.Discard, err: log, bundles: generated.Bundles(), devices: devices, auto: []string{"cpu"}, self: selfTested}
	s := newServing(e)
	if err := s.read(append([]string{"-model", shipped, "-port", "0", "-temp", "0", "-repeat-penalty", "1", "-c", "256"}, args...)); err != nil {
		t.Fatal(err)
	}
	eng, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx, func() {}, eng) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server does not answer")
		}
		url := log.find(address)
		if url == "" {
			continue
		}
		r, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Choices []choice
			Usage   struct {
				PromptOf struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
		}
		err = json.NewDecoder(r.Body).Decode(&out)
		r.Body.Close()
		if r.StatusCode == http.StatusServiceUnavailable { // the model is being loaded
			continue
		}
		if err != nil || len(out.Choices) == 0 {
			t.Fatal(r.Status, err)
		}
		return out.Choices, out.Usage.PromptOf.Cached
	}
}

// TestServe: the server's text is that of the command line, and the next server finds
// the prompt.
func TestServe(t *testing.T) {
	prompt := strings.Repeat("// Package x\n", 20) + "func main() {"
	alone := mlarun("", "-model", shipped, "-p", prompt, "-n", "24", "-temp", "0", "-c", "256", "-quiet")
	if alone.code != exitOK {
		t.Fatalf("%+v", alone)
	}
	dir := t.TempDir()
	for i, least := range []int{0, 64} {
		if text, cached := served(t, prompt, "-prompt-cache-dir", dir); text != alone.out || cached < least || i == 0 && cached > 0 {
			t.Errorf("run %d: %q, %d tokens cached; alone %q", i, text, cached, alone.out)
		}
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 1 {
		t.Errorf("%q, %v", files, err)
	}
}

func TestServeKeyFromEnvironment(t *testing.T) {
	variables := map[string]string{"MLA_API_KEY": "secret"}
	s := newServing(&env{in: strings.NewReader(""), out: io.Discard, err: os.Stderr, devices: devices, auto: []string{"cpu"}, getenv: func(name string) string { return variables[name] }})
	if err := s.read([]string{"-model", shipped}); err != nil || len(s.keys) != 1 || s.keys[0] != "secret" {
		t.Errorf("%v, %q", err, s.keys)
	}
	if got := s.allowedHosts(); len(got) != 2 {
		t.Errorf("on a loopback address: %q", got)
	}
	if s.host = "0.0.0.0"; s.allowedHosts() != nil {
		t.Errorf("on all addresses: %q", s.allowedHosts())
	}
}

// TestServeOpen: a server that others reach, without a key, says so and answers only by
// names that are its own.
func TestServeOpen(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  string
		warns bool
		own   bool // names of the machine are allowed
		any   bool
	}{
		{"-host 0.0.0.0", true, true, false},
		{"-host 0.0.0.0 -allow-host mac.example", true, true, false},
		{"-host 0.0.0.0 -api-key k", false, false, true},
		{"-host 0.0.0.0 -api-key k -allow-host mac.example", false, false, false},
		{"", false, false, false},
	} {
		log := &lockedLog{}
		s := newServing(&env{in: strings.NewReader(""), out: io.Discard, err: log, devices: devices, auto: []string{"cpu"}})
		if err := s.read(append([]string{"-model", shipped, "-port", "0"}, strings.Fields(c.args)...)); err != nil {
			t.Fatal(err)
		}
		l, traces, err := s.listen(t.Context(), s.logger())
		if err != nil {
			t.Fatal(err)
		}
		traces.end()
		l.Close()
		if got := log.find(regexp.MustCompile("WARN.*-api-key")) != ""; got != c.warns {
			t.Errorf("%s: warned %v: %s", c.args, got, log.text.String())
		}
		hosts := s.allowedHosts()
		if slices.Contains(hosts, name) != c.own || (hosts == nil) != c.any || slices.Contains(hosts, "mac.example") != strings.Contains(c.args, "mac.example") {
			t.Errorf("%s: %q", c.args, hosts)
		}
	}
}

// TestServeModels: of a folder of models, those that requests name are loaded, each by a
// process of its own, within the memory that they may take.
func TestServeModels(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"one.gguf": data, "two-00001-of-00001.gguf": data, "broken.gguf": data[:1000], "notes.txt": nil, "three-00002-of-00002.gguf": data} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := &lockedLog{}
	e := &env{in: strings.NewReader(""), out: io.Discard, err: log, bundles: generated.Bundles(), devices: devices, auto: []string{"cpu"}, self: selfTested}
	s := newServing(e)
	// A model takes 10 MiB and something: two do not fit.
	if err := s.read([]string{"-models", dir, "-port", "0", "-c", "128", "-parallel", "2", "-temp", "0", "-models-memory", "0.018", "-log-prompts"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.serveModels(ctx) }()
	url := ""
	for end := time.Now().Add(30 * time.Second); url == "" && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		url = log.find(regexp.MustCompile(`http://127\.0\.0\.1:\d+`))
	}
	for _, name := range []string{"one", "two"} {
		r, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"model": "`+name+`", "prompt": "func main() {", "max_tokens": 8}`))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(text), `"model":"`+name+`"`) {
			t.Errorf("%s: %s %s", name, r.Status, text)
		}
		r, err = http.Get(url + "/v1/models")
		if err != nil {
			t.Fatal(err)
		}
		text, err = io.ReadAll(r.Body)
		r.Body.Close()
		if list := string(text); err != nil || strings.Count(list, `"loaded":true`) != 1 || strings.Count(list, `"object":"model"`) != 2 {
			t.Errorf("behind %s: %v, %s", name, err, list)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, want := range []string{`left out.*broken\.gguf`, `unloading.*model=one.*memory is needed`,
		`msg="one.gguf with bundle tinyglm \(f32 activations\) on cpu, context 128.*" model=one`, `msg="two-00001-of-00001.gguf with bundle .*" model=two`,
		`msg=prompt model=one id=req_\w+ text="func main\(\) {"`, `path=/v1/completions status=200 .*model=two prompt=\d+ cached=0 generated=8\n`} {
		if log.find(regexp.MustCompile(want)) == "" {
			t.Errorf("no %s in the log:\n%s", want, log.text.String())
		}
	}
}
