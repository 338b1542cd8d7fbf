package server_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/server"
)

// natives are the model's answers to prompts of code.
var natives = []completiontest.Answer{
	{To: "indented:", Text: "a\n    b\n  c\n    d"},
	{To: "Quick", Text: "Done."},
	{To: "end<|code_middle|>", Text: "filled"},
	{To: "sss<|code_middle|>", Text: "filled"},
}

// TestNativeCompletion checks the fields of an answer that llama-server's clients read.
func TestNativeCompletion(t *testing.T) {
	s := serve(t, nil, natives...)
	type answer struct {
		Content      string
		Tokens       []int32
		Stop         bool
		StopType     string `json:"stop_type"`
		StoppingWord string `json:"stopping_word"`
		Truncated    *bool
		NewLine      *bool          `json:"has_new_line"`
		Predicted    int            `json:"tokens_predicted"`
		Evaluated    int            `json:"tokens_evaluated"`
		Settings     map[string]any `json:"generation_settings"`
		Timings      map[string]any
		Probs        []struct {
			ID    int32
			Token string
			Bytes []int
			Top   []struct{ ID int32 } `json:"top_logprobs"`
		} `json:"completion_probabilities"`
	}
	for _, c := range []struct {
		name, body    string
		content, kind string
		word          string
		newLine       bool
		evaluated     int
	}{
		{"the end", `{"prompt":"Quick"}`, "Done.", "eos", "", false, 5},
		{"a limit", `{"prompt":"Quick","n_predict":2}`, "Do", "limit", "", false, 5},
		{"no limit", `{"prompt":"Quick","n_predict":-1}`, "Done.", "eos", "", false, 5},
		{"a word", `{"prompt":"Quick","stop":["ne"]}`, "Do", "word", "ne", false, 5},
		{"texts and tokens", `{"prompt":[81,"uic",107]}`, "Done.", "eos", "", false, 5},
		{"tokens", `{"prompt":[81,117,105,99,107]}`, "Done.", "eos", "", false, 5},
		{"an object", `{"prompt":{"prompt_string":"Quick"}}`, "Done.", "eos", "", false, 5},
		{"indented", `{"prompt":"indented:","n_indent":4}`, "a\n    b\n  ", "limit", "", true, 9},
		{"a bias as pairs", `{"prompt":"Quick","logit_bias":[[68,false],["o",-100]],"n_predict":1}`, "", "limit", "", false, 5},
		{"samplers", `{"prompt":"Quick","samplers":["top_k","dry","temperature"],"temperature":0}`, "Done.", "eos", "", false, 5},
		{"samplers as letters", `{"prompt":"Quick","samplers":"edskypmxt"}`, "Done.", "eos", "", false, 5},
	} {
		for _, path := range []string{"/completion", "/completions"} {
			var a answer
			s.post(path, c.body, &a)
			if c.name == "a bias as pairs" {
				if a.Content == "D" || len(a.Settings["logit_bias"].([]any)) != 2 {
					t.Errorf("%s: %+v", c.name, a)
				}
				continue
			}
			if a.Content != c.content || !a.Stop || a.StopType != c.kind || a.StoppingWord != c.word || a.Truncated == nil || *a.Truncated || a.NewLine == nil || *a.NewLine != c.newLine || a.Evaluated != c.evaluated || a.Predicted == 0 {
				t.Errorf("%s %s: %+v", path, c.name, a)
			}
			for _, name := range []string{"prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second", "predicted_n", "predicted_ms", "predicted_per_token_ms", "predicted_per_second", "cache_n"} {
				if _, ok := a.Timings[name].(float64); !ok {
					t.Errorf("%s: no timings.%s", c.name, name)
				}
			}
		}
	}
	var a answer
	s.post("/completion", `{"prompt":"Quick","n_probs":2,"return_tokens":true,"temperature":0}`, &a)
	if len(a.Probs) != 5 || a.Probs[0].Token != "D" || a.Probs[0].ID != 68 || len(a.Probs[0].Top) != 2 || fmt.Sprint(a.Probs[0].Bytes) != "[68]" || len(a.Tokens) != 5 {
		t.Errorf("probabilities: %+v", a)
	}
	var list []answer
	if s.post("/completion", `{"prompt":["Quick",[81,117,105,99,107],["Qui",99,107]]}`, &list); len(list) != 3 || list[0].Content != "Done." || list[1].Content != "Done." || list[2].Content != "Done." {
		t.Errorf("a list: %+v", list)
	}
	var fields map[string]any
	if s.post("/completion", `{"prompt":"Quick","n_predict":4,"response_fields":["content","generation_settings/n_predict","nothing","timings/none"]}`, &fields); len(fields) != 2 || fields["content"] != "Done" || fields["generation_settings/n_predict"] != 4. {
		t.Errorf("fields: %v", fields)
	}
}

// TestNativeStream checks the pieces, progress and timings of a stream.
func TestNativeStream(t *testing.T) {
	s := serve(t, nil, natives...)
	prompt := func(c string) string { return strings.Repeat(c, 200) + "Quick" }
	for _, c := range []struct{ path, body string }{
		{"/completion", `{"prompt":"` + prompt("1") + `","stream":true,"return_progress":true,"timings_per_token":true,"return_tokens":true}`},
		{"/v1/completions", `{"prompt":"` + prompt("2") + `","stream":true,"return_progress":true,"timings_per_token":true,"max_tokens":9}`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"` + prompt("3") + `"}],"stream":true,"return_progress":true,"timings_per_token":true,"max_tokens":9}`},
	} {
		_, text := s.do("POST", c.path, c.body)
		progress, timed, last := 0, 0, -1.
		for line := range strings.Lines(text) {
			data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
			if !ok || data == "[DONE]" {
				continue
			}
			var v struct {
				Progress *struct{ Total, Cache, Processed, Time *float64 } `json:"prompt_progress"`
				Timings  map[string]any
			}
			if err := json.Unmarshal([]byte(data), &v); err != nil {
				t.Fatalf("%v in %s", err, data)
			}
			if p := v.Progress; p != nil {
				if *p.Processed <= last || *p.Processed > *p.Total || progress == 0 && *p.Processed != *p.Cache {
					t.Errorf("%s: %v after %v of %v", c.path, *p.Processed, last, *p.Total)
				}
				progress, last = progress+1, *p.Processed
				if timed > 0 && c.path != "/v1/chat/completions" {
					t.Errorf("%s: progress of the prompt after the answer's first piece", c.path)
				}
			} else if v.Timings != nil {
				timed++
			}
		}
		if progress < 2 || timed < 3 {
			t.Errorf("%s: %d events of progress, %d with timings: %.1500s", c.path, progress, timed, text)
		}
	}
}

// TestNativeProbabilities checks that each piece of a stream has one token, with its probability.
func TestNativeProbabilities(t *testing.T) {
	s := serve(t, nil, append(natives, completiontest.Answer{To: "Umlaut", Text: "\u00fc!"})...)
	_, text := s.do("POST", "/completion", `{"prompt":"Umlaut","stream":true,"n_probs":2,"temperature":0}`)
	pieces := 0
	for line := range strings.Lines(text) {
		var v struct {
			Stop  bool
			Probs []struct {
				Top []struct{} `json:"top_logprobs"`
			} `json:"completion_probabilities"`
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if pieces++; !v.Stop && (len(v.Probs) != 1 || len(v.Probs[0].Top) != 2) {
			t.Errorf("%s", data)
		}
	}
	if pieces != 4 { // two bytes of a character, one, and the end
		t.Errorf("%d pieces: %s", pieces, text)
	}
}

// TestSampledProbabilities checks that post_sampling_probs returns the tokens that the samplers leave, with
// probabilities that add up to 1.
func TestSampledProbabilities(t *testing.T) {
	s := serve(t, nil, natives...)
	for fields, want := range map[string]int{`"temperature":0`: 1, `"temperature":2,"top_k":3`: 3, `"temperature":2,"top_n_sigma":50,"top_k":2`: 2} {
		_, text := s.do("POST", "/completion", `{"prompt":"Quick","n_predict":1,"seed":1,"n_probs":5,"post_sampling_probs":true,`+fields+`}`)
		var v struct {
			Settings struct {
				Post bool `json:"post_sampling_probs"`
			} `json:"generation_settings"`
			Probs []struct {
				Logprob *float64
				Prob    float64
				Top     []struct{ Prob float64 } `json:"top_probs"`
			} `json:"completion_probabilities"`
		}
		if err := json.Unmarshal([]byte(text), &v); err != nil || len(v.Probs) != 1 || !v.Settings.Post {
			t.Fatalf("%v: %s", err, text)
		}
		for _, p := range v.Probs {
			sum := 0.0
			for _, c := range p.Top {
				sum += c.Prob
			}
			if len(p.Top) != want || math.Abs(sum-1) > 1e-9 || p.Prob <= 0 || p.Prob > p.Top[0].Prob || p.Logprob != nil {
				t.Errorf("%s: %+v; expected %d tokens", fields, p, want)
			}
		}
	}
}

// TestNativeErrors checks that a bad request gets the status 400 with the name of the field.
func TestNativeErrors(t *testing.T) {
	s := serve(t, nil, natives...)
	all := []string{}
	for id := range 276 {
		all = append(all, fmt.Sprintf("[%d,-100]", id))
	}
	for _, c := range []struct{ path, body, param string }{
		{"/completion", `{}`, "prompt"},
		{"/completion", `{"prompt":[]}`, "prompt"},
		{"/completion", `{"prompt":[1,{}]}`, "prompt"},
		{"/completion", `{"prompt":[[1,"a"],true]}`, "prompt"},
		{"/completion", `{"prompt":[1,-5]}`, "prompt"},
		{"/completion", `{"prompt":[1,1.5]}`, "prompt"},
		{"/completion", `{"prompt":"x","n_probs":50}`, "n_probs"},
		{"/completion", `{"prompt":"x","n_indent":-1}`, "n_indent"},
		{"/completion", `{"prompt":"x","samplers":["mystery"]}`, "samplers"},
		{"/completion", `{"prompt":"x","samplers":["temperature",7]}`, "samplers"},
		{"/completion", `{"prompt":"x","samplers":5}`, "samplers"},
		{"/completion", `{"prompt":"x","logit_bias":[[1]]}`, "logit_bias"},
		{"/completion", `{"prompt":"x","logit_bias":[[1,true]]}`, "logit_bias"},
		{"/completion", `{"prompt":"x","logit_bias":[[99999,1]]}`, "logit_bias"},
		{"/completion", `{"prompt":"x","logit_bias":"x"}`, "logit_bias"},
		{"/completion", `{"prompt":"x","logit_bias":[` + strings.Join(all, ",") + `]}`, "logit_bias"},
		{"/v1/completions", `{"prompt":"x","grammar":"root ::= \"a\"","logit_bias":{"a":-100}}`, "logit_bias"},
		{"/v1/completions", `{"prompt":"x","grammar":"root ::= [0-9]","logit_bias":{"0123456789":false}}`, "logit_bias"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"json_schema":{"type":"boolean"},"chat_template_kwargs":{"enable_thinking":false},"logit_bias":{"tf":-100}}`, "logit_bias"},
		{"/infill", `{"input_prefix":"x","input_extra":[{}]}`, "input_extra[0].text"},
		{"/infill", `{"input_prefix":"x","input_extra":[{"filename":"a","text":"b"},{"filename":"a"}]}`, "input_extra[1].text"},
		{"/infill", `{"input_prefix":"x","input_extra":[{"filename":1,"text":"b"}]}`, "input_extra.filename"},
		{"/tokenize", `{"content":["a",{}]}`, "content"},
		{"/tokenize", `{"content":[["a"]]}`, "content"},
		{"/tokenize", `{"content":[99999]}`, "content"},
		{"/tokenize", `{"content":true}`, "content"},
		{"/slots/0?action=fly", `{}`, "action"},
		{"/slots/99?action=save", `{}`, "id_slot"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"cache_salt":""}`, "cache_salt"},
		{"/v1/completions", `{"prompt":"x","cache_salt":7}`, "cache_salt"},
	} {
		r, text := s.do("POST", c.path, c.body)
		var out struct{ Error struct{ Param string } }
		if err := json.Unmarshal([]byte(text), &out); err != nil || r.StatusCode != 400 || out.Error.Param != c.param {
			t.Errorf("%s %.200s: %s %s; expected 400 of %s", c.path, c.body, r.Status, text, c.param)
		}
	}
	if r, text := s.do("POST", "/slots/0?action=erase", ""); r.StatusCode != 501 || !strings.Contains(text, "prompt-cache-dir") {
		t.Errorf("%s %s", r.Status, text)
	}
}

// TestInfill checks the prompt of a middle between two texts. If it is too long, the text far away from the
// middle is dropped first.
func TestInfill(t *testing.T) {
	s := serve(t, nil, natives...)
	type answer struct{ Content, Prompt string }
	for _, c := range []struct{ body, prompt, content string }{
		{`{"input_prefix":"my middle","input_suffix":"end"}`, "my middleend", "filled"},
		{`{"input_prefix":"my ","prompt":"middle","input_suffix":"end","n_predict":3}`, "my middleend", "fil"},
		{`{"input_prefix":"my middle","input_suffix":"end","input_extra":[{"filename":"a.go","text":"package a"}]}`, "\n\n--- snippet ---\n\npackage amy middleend", "filled"},
		{`{"input_prefix":"my middle","input_suffix":"` + strings.Repeat("s", 5000) + `","n_predict":8}`, "my middle" + strings.Repeat("s", 1024-8-9-3), "filled"},
		{`{"input_prefix":"` + strings.Repeat("p", 5000) + `my middle","input_suffix":"end","n_predict":8}`, strings.Repeat("p", 1024-8-3-9-3) + "my middleend", "filled"},
	} {
		var a answer
		if s.post("/infill", c.body, &a); a.Prompt != c.prompt || a.Content != c.content {
			t.Errorf("%.100s: prompt %d %.100q, answer %q; expected %d %.100q, %q", c.body, len(a.Prompt), a.Prompt, a.Content, len(c.prompt), c.prompt, c.content)
		}
	}
	var out struct{ Choices []struct{ Text string } }
	if s.post("/v1/completions", `{"prompt":"my middle","suffix":"end"}`, &out); out.Choices[0].Text != "filled" {
		t.Errorf("suffix: %+v", out)
	}
	if r, text := s.do("POST", "/v1/completions", `{"prompt":["a","b"],"suffix":"end"}`); r.StatusCode != 400 || !strings.Contains(text, "suffix") {
		t.Errorf("%s %s", r.Status, text)
	}
}

// TestWithoutV1 checks llama-server's paths beside OpenAI's.
func TestWithoutV1(t *testing.T) {
	s := serve(t, nil, chats...)
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/models", "", `"id":"tiny"`},
		{"GET", "/v1/health", "", `"ok"`},
		{"POST", "/chat/completions", `{"messages":[{"role":"user","content":"Hello"}]}`, "how are you"},
		{"POST", "/responses", `{"input":"Hello"}`, "how are you"},
		{"POST", "/v1/chat/completions/input_tokens", `{"messages":[{"role":"user","content":"Hello"}]}`, `"input_tokens":`},
		{"POST", "/chat/completions/input_tokens", `{"messages":[{"role":"user","content":"Hello"}]}`, `"input_tokens":`},
		{"POST", "/responses/input_tokens", `{"input":"Hello"}`, `"input_tokens":`},
		{"POST", "/v1/responses/input_tokens", `{"input":"Hello"}`, `"object":"response.input_tokens"`},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"Hello"}],"n_predict":2}`, `"finish_reason":"length"`},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"Hello"}],"n_predict":2,"max_tokens":900}`, `"finish_reason":"stop"`},
		{"POST", "/v1/responses", `{"input":"Hello"}`, `"timings":{"cache_n":`},
		{"POST", "/tokenize", `{"content":"aé","with_pieces":true}`, `{"id":97,"piece":"a"},{"id":195,"piece":[195]},{"id":169,"piece":[169]}`},
		{"POST", "/tokenize", `{"content":""}`, `{"tokens":[]}`},
		{"POST", "/tokenize", `{"content":["a",98,"c"]}`, `{"tokens":[97,98,99]}`},
		{"POST", "/tokenize", `{"content":["a","b"]}`, `{"tokens":[97,98]}`},
		{"POST", "/tokenize", `{"content":[]}`, `{"tokens":[]}`},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"Hello"}],"stop":""}`, `"finish_reason":"stop"`},
		{"POST", "/v1/completions", `{"prompt":"Quick","stop":["","n"]}`, `"text":"Do"`},
	} {
		if r, text := s.do(c.method, c.path, c.body); r.StatusCode != 200 || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %s %s", c.method, c.path, r.Status, text)
		}
	}
	_, text := s.do("GET", "/metrics", "")
	for _, name := range []string{"prompt_tokens_total", "prompt_seconds_total", "tokens_predicted_total", "tokens_predicted_seconds_total", "n_decode_total", "n_tokens_max", "n_busy_slots_per_decode", "prompt_tokens_seconds", "predicted_tokens_seconds", "requests_processing", "requests_deferred"} {
		if !strings.Contains(text, "\nllamacpp:"+name+" ") {
			t.Errorf("no metric llamacpp:%s", name)
		}
	}
	if strings.Contains(text, "\nllamacpp:tokens_predicted_total 0\n") {
		t.Error("no tokens are counted under llama-server's name")
	}
}

// TestAliases checks that a model is found by each of its names, and that /props has the file's name.
func TestAliases(t *testing.T) {
	s := serve(t, func(c *server.Config, _ *completion.Config) { c.Aliases, c.File = []string{"fim", "code"}, "tiny.gguf" }, chats...)
	for path, want := range map[string]string{"/v1/models/fim": `"id":"tiny"`, "/v1/models/tiny": `"aliases":["tiny","fim","code"]`, "/models": `"aliases":["tiny","fim","code"]`, "/props": `"model_path":"tiny.gguf"`} {
		if r, text := s.do("GET", path, ""); r.StatusCode != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %s %s; expected %s", path, r.Status, text, want)
		}
	}
	if r, text := s.do("GET", "/v1/models/other", ""); r.StatusCode != 404 {
		t.Errorf("%s %s", r.Status, text)
	}
}
