package server_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mla/runtime/serve/completion"
)

// toyTools are two tools that tinychat was trained to call.
const toyTools = `"tools": [
	{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}},
	{"type": "function", "function": {"name": "multiply", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}]`

// dialogues returns a random request for tinychat. Numbers make most requests and most schemas new, so that
// the caches of prompts and grammars get full.
func dialogues(rng *rand.Rand) (path, body string) {
	a, b := rng.IntN(100), rng.IntN(100)
	user := fmt.Sprintf(`"messages": [{"role": "user", "content": "What is %d + %d?"}], "seed": %d`, a, b, rng.IntN(1000))
	schema := fmt.Sprintf(`"response_format": {"type": "json_schema", "json_schema": {"name": "sum", "strict": true, "schema": {"type": "object", "properties": {"sum": {"type": "integer", "maximum": %d}}, "required": ["sum"], "additionalProperties": false}}}`, 200+rng.IntN(100))
	brief := `"chat_template_kwargs": {"enable_thinking": false}`
	list := []struct{ path, body string }{
		{"/v1/chat/completions", user + `, "max_tokens": 40`},
		{"/v1/chat/completions", user + `, "stream": true, "max_tokens": 40, "temperature": 1`},
		{"/v1/chat/completions", user + `, "max_tokens": 24, ` + brief + `, ` + schema},
		{"/v1/chat/completions", user + `, "stream": true, "max_tokens": 24, ` + brief + `, ` + schema},
		{"/v1/chat/completions", user + `, "stream": true, "max_tokens": 40, ` + toyTools},
		{"/v1/chat/completions", user + `, "max_tokens": 8, "logprobs": true, "top_logprobs": 3`},
		{"/v1/messages", fmt.Sprintf(`"messages": [{"role": "user", "content": "Count up from 1 to %d."}], "max_tokens": 24, "stream": true`, 1+a)},
		{"/v1/completions", fmt.Sprintf(`"prompt": "Count up from %d to 9.", "max_tokens": 24, "n": 2, "temperature": 1`, a%9)},
	}
	d := list[rng.IntN(len(list))]
	return d.path, "{" + d.body + "}"
}

// content reads its whole answer, and checks that it is complete.
func content(s *served, _ *rand.Rand, path, body string) error {
	r, err := http.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && (r.StatusCode != http.StatusOK || strings.Contains(string(text), `"error"`)) {
		err = fmt.Errorf("%s: %.300s", r.Status, text)
	}
	return err
}

// leaving leaves after some lines of its answer.
func leaving(s *served, rng *rand.Rand, path, body string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := s.stream(ctx, path, strings.Replace(body, "{", `{"stream": true, `, 1))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.CopyN(io.Discard, r.Body, int64(rng.IntN(2000)))
	if err == io.EOF { // it was short
		err = nil
	}
	return err
}

// evenly is a clock by which all steps take the same time, so that guesses always pay: by the
// real one they rest most of the time when texts run in one batch.
func evenly(c *completion.Config) {
	var ticks atomic.Int64
	c.Scheduler.Now = func() time.Time { return time.UnixMilli(ticks.Add(1)) }
}

// TestSoakTinychat is TestSoak for a real model with guesses and grammars, and without a failing device.
func TestSoakTinychat(t *testing.T) {
	s := tinychat(t, evenly)
	s.hold(load{clients: []client{{60, content}, {25, impatient}, {15, leaving}}, body: dialogues, at: 6})
	numbers := map[string]float64{}
	for name, family := range s.scrape() {
		numbers[name] = family.Metric[0].Counter.GetValue()
	}
	generated, drafted, accepted, gone := numbers["mla_generated_tokens_total"], numbers["mla_drafted_tokens_total"], numbers["mla_accepted_tokens_total"], numbers["mla_errors_total"]
	t.Logf("%v tokens, %v of %v guesses right, %v clients gone", generated, accepted, drafted, gone)
	if drafted < generated/5 || accepted < drafted/2 || gone == 0 {
		t.Error("there were too few guesses, or no clients that went")
	}
}
