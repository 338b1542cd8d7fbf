package server_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/server"
	"mla/tools/tests/processor"
)

// attacks returns bodies that ask for more work or memory than their answers need: grammars and schemas that
// grow, long texts, impossible biases, deeply nested values.
func attacks(t *testing.T) (list []struct{ path, body string }) {
	t.Helper()
	add := func(path string, fields map[string]any) {
		body, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, struct{ path, body string }{path, string(body)})
	}
	grammars := []string{
		`root ::= ((""{65536}){65536}){65536}`, `root ::= ("a"{0}){65536}`, "root ::= (" + strings.Repeat(`""|`, 30_000) + `""){65536}`,
		"root ::= [" + strings.Repeat("a-z", 16_000) + "]{65536}", "root ::= <nope>", "root ::= " + strings.Repeat("(", 2000) + `"a"` + strings.Repeat(")", 2000),
		`root ::= (("a"|"a"|"aa")*){1,300}`,
	}
	files, err := filepath.Glob("../../text/grammar/testdata/hostile/*.gbnf")
	if err != nil || len(files) < 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		grammars = append(grammars, string(text))
	}
	for _, g := range grammars {
		add("/v1/completions", map[string]any{"prompt": "x", "max_tokens": 5, "grammar": g})
	}
	var deepSchema any = map[string]any{"type": "string"}
	for range 40 {
		deepSchema = map[string]any{"type": "array", "items": deepSchema, "minItems": 9, "maxItems": 9}
	}
	chat := []map[string]string{{"role": "user", "content": "Hello"}}
	add("/v1/chat/completions", map[string]any{"messages": chat, "json_schema": deepSchema})
	add("/v1/chat/completions", map[string]any{"messages": chat, "json_schema": map[string]any{"type": "string", "pattern": "^(((a{1,999}){1,999}){1,999})$"}})
	long := strings.Repeat("a", 1<<20)
	add("/v1/completions", map[string]any{"prompt": long})
	add("/tokenize", map[string]any{"content": long})
	add("/v1/messages", map[string]any{"max_tokens": 5, "messages": []map[string]string{{"role": "user", "content": long}}})
	bias := map[string]int{}
	for id := range 300 {
		bias[strconv.Itoa(id)] = -100
	}
	add("/v1/completions", map[string]any{"prompt": "x", "max_tokens": 3, "logit_bias": bias})
	list = append(list, struct{ path, body string }{"/v1/chat/completions", `{"messages": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`})
	return list
}

// latency returns the median time of some short answers, one after the other. On a busy machine sending one
// may take longer than dawdle; then it is sent again.
func (s *served) latency(requests int) time.Duration {
	s.Helper()
	var times []time.Duration
	for range requests {
		began := time.Now()
		for tries := 1; ; tries++ {
			err := s.request(context.Background(), "/v1/completions", `{"prompt": "x", "max_tokens": 2}`)
			if err == nil {
				break
			}
			if tries == 5 {
				s.Error(err)
				break
			}
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// TestSoakHostile checks the server under load when a third of the requests are attacks. At the end as many pages,
// goroutines and bytes are in use as after a tenth of the requests, and nothing is computed any more. During the
// attacks other requests still get their answers.
func TestSoakHostile(t *testing.T) {
	s := serve(t, func(c *server.Config, _ *completion.Config) {
		c.Limits.Connections, c.Limits.Read = 64, dawdle
	}, chats...)
	hostile := attacks(t)
	before := s.latency(50)
	var during []time.Duration
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				during = append(during, s.latency(1))
			}
		}
	})
	s.hold(load{clients, func(rng *rand.Rand) (path, body string) {
		if rng.IntN(3) > 0 {
			return bodies(rng)
		}
		b := hostile[rng.IntN(len(hostile))]
		return b.path, b.body
	}, nil, 8})
	close(done)
	watcher.Wait()
	slices.Sort(during)
	worst := during[len(during)-1]
	t.Logf("a short answer took %v before, %v in the mean and at most %v during, %v after", before, during[len(during)/2], worst, s.latency(50))
	// If an attack still ran, it would use a core for ever. The test looks at the process's own processor time,
	// so that other work on the machine does not matter.
	s.wait("the program to rest", func() bool {
		used := processor.Time(t)
		time.Sleep(100 * time.Millisecond)
		return processor.Time(t)-used < 10*time.Millisecond
	})
	if worst > 2*time.Minute { // usually a tenth of a second; longer on a busy machine
		t.Errorf("one waited %v", worst)
	}
}
