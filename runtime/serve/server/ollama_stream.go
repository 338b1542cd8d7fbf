package server

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"mla/runtime/text/chat/output"
)

// ollamaPiece is the contents of a line of an answer.
type ollamaPiece struct {
	text, thinking string
	calls          []call
	before         int // calls in earlier lines
}

// ollamaAnswer writes an answer in Ollama's format: lines of JSON, or one object.
type ollamaAnswer struct {
	s       *Server
	began   time.Time
	write   func(ollamaPiece) map[string]any // the format of /api/chat or /api/generate
	out     *lineStream
	current call
	calls   int
}

// ollamaRequest is a request of /api/chat or /api/generate.
type ollamaRequest interface {
	job(context.Context, *Server) (*job, error)
	loads() bool
}

// answerOllama answers a request.
func (s *Server) answerOllama(w http.ResponseWriter, r *http.Request, q ollamaRequest, f *ollamaFields, write func(ollamaPiece) map[string]any) error {
	a := &ollamaAnswer{s: s, began: time.Now(), write: write}
	started := &loadable{ollamaRequest: q}
	_, st, err := s.startRequest(w, r, started)
	if err != nil && started.empty { // the model is loaded, which was all that was wanted
		out := a.line(ollamaPiece{}, true)
		out["done_reason"] = "load"
		if f.KeepAlive.ends() {
			out["done_reason"] = "unload"
		}
		writeJSON(w, http.StatusOK, out)
		return nil
	}
	if err != nil {
		return err
	}
	if f.streams() {
		a.out = newLineStream(w)
		return s.pump(r, st, &a.out.sse, a)
	}
	answers, err := s.collect(r, st, 1)
	if err != nil {
		return err
	}
	one := &answers[0]
	out := a.line(ollamaPiece{text: one.content, thinking: one.reasoning, calls: one.calls}, true)
	maps.Copy(out, a.last(one.ending))
	writeJSON(w, http.StatusOK, out)
	return nil
}

// loadable is a request that may only want the model to be loaded.
type loadable struct {
	ollamaRequest
	empty bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *loadable) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, l.ollamaRequest) }

func (l *loadable) job(ctx context.Context, s *Server) (*job, error) {
	if l.empty = l.loads(); l.empty {
		return nil, bad("messages", "there is none")
	}
	return l.ollamaRequest.job(ctx, s)
}

func (l *loadable) forget() { l.ollamaRequest.(forgetful).forget() }

func (l *loadable) salt() (string, error) { return l.ollamaRequest.(salted).salt() }

// line is the fields of all lines.
func (a *ollamaAnswer) line(p ollamaPiece, done bool) map[string]any {
	out := a.write(p)
	out["model"], out["created_at"], out["done"] = a.s.cfg.Model, time.Now().UTC().Format(time.RFC3339Nano), done
	return out
}

// last is the further fields of the last line. Times are in nanoseconds.
func (a *ollamaAnswer) last(e *ending) map[string]any {
	reason := "stop"
	if e.finish() == "length" {
		reason = "length"
	}
	r := &e.result
	return map[string]any{"done_reason": reason, "total_duration": time.Since(a.began).Nanoseconds(), "load_duration": 0,
		"prompt_eval_count": e.prompt, "prompt_eval_duration": r.Prompt.Elapsed.Nanoseconds(),
		"eval_count": len(r.Tokens), "eval_duration": r.Decode.Elapsed.Nanoseconds()}
}

// event implements writer. A call is a line of its own.
func (a *ollamaAnswer) event(e event) {
	if e.end != nil {
		out := a.line(ollamaPiece{}, true)
		maps.Copy(out, a.last(e.end))
		a.out.object(out)
		return
	}
	switch e.Kind {
	case output.Content:
		a.out.object(a.line(ollamaPiece{text: e.Text}, false))
	case output.Reasoning:
		a.out.object(a.line(ollamaPiece{thinking: e.Text}, false))
	case output.CallBegin:
		a.current = call{id: e.id, name: e.Text}
	case output.Arguments:
		a.current.arguments += e.Text
	case output.CallEnd:
		if !e.Valid { // the client has not seen it yet
			a.out.object(a.line(ollamaPiece{text: e.Text}, false))
			return
		}
		a.out.object(a.line(ollamaPiece{calls: []call{a.current}, before: a.calls}, false))
		a.calls++
	}
}

// ping implements writer. An empty piece shows that the server is alive.
func (a *ollamaAnswer) ping() { a.out.object(a.line(ollamaPiece{}, false)) }

// end implements writer.
func (a *ollamaAnswer) end() {}

// fail implements writer.
func (a *ollamaAnswer) fail(e *apiError) { a.out.object(map[string]any{"error": e.Message}) }

// lineStream writes one JSON object per line.
type lineStream struct{ sse }

// newLineStream begins a response of lines.
func newLineStream(w http.ResponseWriter) *lineStream {
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("X-Accel-Buffering", "no") // keeps nginx from buffering
	w.WriteHeader(http.StatusOK)
	out := &lineStream{sse{w: w, rc: http.NewResponseController(w)}}
	out.flush(nil)
	return out
}

// object writes a line.
func (o *lineStream) object(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && o.err == nil {
		o.err = err
	}
	o.flush(b.Bytes())
}
