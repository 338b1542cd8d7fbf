package server_test

import (
	"fmt"
	"strings"
	"testing"

	"mla/runtime/serve/completion/completiontest"
)

// TestEndings checks that answers are as long as min_tokens and ignore_eos demand, and end at stop_token_ids.
// The model's tokens are bytes.
func TestEndings(t *testing.T) {
	s := serve(t, nil, completiontest.Answer{To: "Quick", Text: "Done."})
	for _, c := range []struct {
		fields, content, finish string
		longer                  bool // it begins so
	}{
		{``, "Done.", "stop", false},
		{`,"stop_token_ids":[110]`, "Do", "stop", false},
		{`,"stop_token_ids":[110,111.0]`, "D", "stop", false},
		{`,"ignore_eos":true,"max_tokens":9`, "Done.", "length", true},
		{`,"ignore_eos":true,"stop_token_ids":[101],"max_tokens":9`, "Don", "stop", false},
		{`,"min_tokens":7,"max_tokens":20`, "Done.", "", true},
		{`,"min_tokens":5`, "Done.", "stop", false},
		{`,"min_tokens":0`, "Done.", "stop", false},
		{`,"stop":"on"`, "D", "stop", false},
		{`,"stop":"on","min_tokens":5`, "Done.", "stop", false},
		{`,"stop":"e","min_tokens":3`, "Don", "stop", false},
		{`,"grammar":"root ::= \"ab\"","min_tokens":9`, "ab", "stop", false},
		{`,"grammar":"root ::= \"a\"+","min_tokens":9,"max_tokens":12`, "aaaaaaaaa", "", true},
		{`,"grammar":"root ::= \"ab\"","ignore_eos":true`, "ab", "stop", false},
	} {
		for api, at := range map[string]func(map[string]any) (text, finish any){
			"/v1/completions": func(out map[string]any) (any, any) {
				return at(out, "choices", 0, "text"), at(out, "choices", 0, "finish_reason")
			},
			"/completion": func(out map[string]any) (any, any) {
				finish := "stop"
				if out["stop_type"] == "limit" {
					finish = "length"
				}
				return out["content"], finish
			},
		} {
			out := s.answer(api, `{"prompt":"Quick"`+c.fields+`}`)
			text, finish := at(out)
			if c.finish != "" && finish != c.finish || c.longer && (!strings.HasPrefix(text.(string), c.content) || len(text.(string)) < len(c.content)) || !c.longer && text != c.content {
				t.Errorf("%s %s: %q, %v; expected %q", api, c.fields, text, finish, c.content)
			}
			if n := tokensOf(out); strings.Contains(c.fields, `"min_tokens":7`) && n < 7 {
				t.Errorf("%s %s: %d tokens", api, c.fields, n)
			}
		}
	}
	for _, c := range []struct{ fields, param string }{
		{`"stop_token_ids":[-1]`, "stop_token_ids"}, {`"stop_token_ids":[99999]`, "stop_token_ids"}, {`"stop_token_ids":["a"]`, "stop_token_ids"},
		{`"stop_token_ids":[0` + strings.Repeat(",0", 5000) + `]`, "stop_token_ids"}, {`"min_tokens":9,"max_tokens":8`, "min_tokens"},
	} {
		for _, path := range []string{"/v1/completions", "/v1/chat/completions"} {
			r, text := s.do("POST", path, `{"prompt":"x","messages":[{"role":"user","content":"x"}],`+c.fields+`}`)
			if r.StatusCode != 400 || !strings.Contains(text, `"param":"`+c.param) {
				t.Errorf("%s %.60s: %s %s", path, c.fields, r.Status, text)
			}
		}
	}
}

// tokensOf returns the number of tokens of an answer.
func tokensOf(out map[string]any) int {
	if n, ok := out["tokens_predicted"].(float64); ok {
		return int(n)
	}
	return int(at(out, "usage", "completion_tokens").(float64))
}

// TestSamplingEverywhere checks that each API samples by the request's fields: with a high temperature, DRY,
// mirostat and the other samplers leave the most likely tokens, and the same seed gives the same answer.
// /props and answers list all settings.
func TestSamplingEverywhere(t *testing.T) {
	s := serve(t, nil, completiontest.Answer{To: "Quick", Text: "Done."}, completiontest.Answer{To: "Hi", Text: "x</think>Done."})
	message := `"messages":[{"role":"user","content":"Hi"}]`
	apis := map[string][2]string{
		"/v1/chat/completions": {`{` + message + `,`, `}`}, "/v1/messages": {`{"max_tokens":60,` + message + `,`, `}`},
		"/v1/responses": {`{"input":"Hi",`, `}`}, "/v1/completions": {`{"prompt":"Quick","max_tokens":60,`, `}`}, "/completion": {`{"prompt":"Quick",`, `}`},
		"/api/chat": {`{"stream":false,` + message + `,"options":{`, `}}`}, "/api/generate": {`{"stream":false,"prompt":"Hi","options":{`, `}}`},
	}
	for api, around := range apis {
		for _, fields := range []string{
			`"temperature":50,"top_n_sigma":0.5`, `"temperature":50,"typical_p":0.001`, `"temperature":50,"samplers":"kt","top_k":1`,
			`"mirostat":2,"mirostat_tau":0,"temperature":1`, `"mirostat":1,"mirostat_tau":0,"temperature":1`, `"dry_multiplier":1,"temperature":0`,
		} {
			if _, text := s.do("POST", api, around[0]+fields+around[1]); !strings.Contains(text, "Done.") {
				t.Errorf("%s %s: %.300s", api, fields, text)
			}
		}
		hot := around[0] + `"temperature":50,"xtc_probability":0.5,"xtc_threshold":0.0001,"seed":5` + around[1]
		if api == "/v1/completions" {
			if a, b := s.answer(api, hot), s.answer(api, hot); at(a, "choices", 0, "text") != at(b, "choices", 0, "text") {
				t.Errorf("%v and %v of one seed", a, b)
			}
		}
	}
	r, text := s.do("GET", "/props", "")
	settings := at(s.answer("/completion", `{"prompt":"Quick","n_predict":2}`), "generation_settings").(map[string]any)
	for _, name := range strings.Fields("seed temperature dynatemp_range dynatemp_exponent top_k top_p min_p top_n_sigma xtc_probability xtc_threshold typical_p repeat_last_n repeat_penalty presence_penalty frequency_penalty dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers mirostat mirostat_tau mirostat_eta min_keep samplers") {
		if _, ok := settings[name]; !ok || r.StatusCode != 200 || !strings.Contains(text, `"`+name+`"`) {
			t.Errorf("no %s in %v or %s", name, settings, text)
		}
	}
	if !strings.Contains(text, `"seed":4294967295`) || fmt.Sprint(settings["samplers"]) != "[penalties dry top_n_sigma top_k typ_p top_p min_p xtc temperature]" {
		t.Errorf("%s %v", text, settings["samplers"])
	}
}

// TestMirostatOfChoices checks that each of n choices has its own mu: a choice is the same as alone with its
// seed.
func TestMirostatOfChoices(t *testing.T) {
	s := serve(t, nil)
	body := `{"prompt":"x","max_tokens":25,"temperature":20,"mirostat":2,"mirostat_tau":6,"mirostat_eta":0.9,"seed":%d,"n":%d}`
	both := s.answer("/v1/completions", fmt.Sprintf(body, 3, 2))
	texts := map[any]bool{}
	for i := range 2 {
		want := at(s.answer("/v1/completions", fmt.Sprintf(body, 3+i, 1)), "choices", 0, "text")
		if got := at(both, "choices", i, "text"); got != want {
			t.Errorf("choice %d: %q; alone %q", i, got, want)
		}
		texts[want] = true
	}
	if len(texts) != 2 {
		t.Error("both choices are the same")
	}
}
