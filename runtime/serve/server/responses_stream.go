package server

import (
	"strings"

	"mla/runtime/text/chat/output"
)

// responseWriter writes the events of a response: items begin, their parts grow, and both end with an event
// that has their full text.
type responseWriter struct {
	out      *sse
	response *response
	number   int // of the next event
	kind     output.Kind
	open     bool // an item of that kind is open
	id       string
	text     strings.Builder // of the open item
	call     call
	used     account
	last     *ending
}

func newResponseWriter(out *sse, r *response) *responseWriter {
	w := &responseWriter{out: out, response: r}
	w.say("response.created", map[string]any{"response": r})
	w.say("response.in_progress", map[string]any{"response": r})
	return w
}

// say writes an event.
func (w *responseWriter) say(name string, data map[string]any) {
	data["type"], data["sequence_number"] = name, w.number
	w.number++
	w.out.event(name, data)
}

// part writes an event of the open item.
func (w *responseWriter) part(name string, data map[string]any) {
	data["item_id"], data["output_index"] = w.id, len(w.response.Output)
	if w.kind != output.CallBegin {
		data["content_index"] = 0
	}
	w.say(name, data)
}

// partOf is the only part of an item with a text.
func partOf(kind output.Kind, text string) map[string]any {
	if kind == output.Reasoning {
		return map[string]any{"type": "reasoning_text", "text": text}
	}
	return textPart(text)
}

// item is the open item.
func (w *responseWriter) item(status string) map[string]any {
	switch w.kind {
	case output.Reasoning:
		return reasoningItem(w.id, status, w.text.String())
	case output.Content:
		return messageItem(w.id, status, textPart(w.text.String()))
	}
	w.call.arguments = w.text.String()
	return w.response.callItem(w.id, status, w.call)
}

// names is the prefixes of ids, and the events of texts, by kind of item.
var names = map[output.Kind]struct{ id, event string }{
	output.Reasoning: {"rs_", "response.reasoning_text"},
	output.Content:   {"msg_", "response.output_text"},
	output.CallBegin: {"fc_", "response.function_call_arguments"},
}

// begin opens an item, unless one of the same kind is open.
func (w *responseWriter) begin(kind output.Kind) {
	if w.open && w.kind == kind {
		return
	}
	w.stop("completed")
	w.open, w.kind, w.id = true, kind, newID(names[kind].id)
	w.text.Reset()
	item := w.item("in_progress")
	if kind != output.CallBegin {
		item["content"] = []any{}
	}
	w.say("response.output_item.added", map[string]any{"output_index": len(w.response.Output), "item": item})
	if kind != output.CallBegin {
		w.part("response.content_part.added", map[string]any{"part": partOf(kind, "")})
	}
}

// stop closes the open item.
func (w *responseWriter) stop(status string) {
	if !w.open {
		return
	}
	w.open = false
	text, name := w.text.String(), names[w.kind].event
	switch w.kind {
	case output.CallBegin:
		w.part(name+".done", map[string]any{"arguments": text, "name": w.item("")["name"]})
	case output.Content:
		w.part(name+".done", map[string]any{"text": text, "logprobs": []any{}})
	default:
		w.part(name+".done", map[string]any{"text": text})
	}
	if w.kind != output.CallBegin {
		w.part("response.content_part.done", map[string]any{"part": partOf(w.kind, text)})
	}
	item := w.item(status)
	w.say("response.output_item.done", map[string]any{"output_index": len(w.response.Output), "item": item})
	w.response.Output = append(w.response.Output, item)
}

func (w *responseWriter) event(e event) {
	if e.end != nil {
		w.used.add(e.end, true)
		w.last = e.end
		return
	}
	switch e.Kind {
	case output.CallBegin:
		w.stop("completed")
		w.call = call{id: e.id, name: e.Text}
		w.begin(output.CallBegin)
		return
	case output.CallEnd:
		w.stop(map[bool]string{true: "completed", false: "incomplete"}[e.Valid])
		return
	case output.Arguments:
	default:
		w.begin(e.Kind)
	}
	w.text.WriteString(e.Text)
	delta := map[string]any{"delta": e.Text}
	if e.Kind == output.Content {
		delta["logprobs"] = []any{}
	}
	w.part(names[w.kind].event+".delta", delta)
}

// ping repeats the state of the response, because Codex ignores comments.
func (w *responseWriter) ping() {
	w.say("response.in_progress", map[string]any{"response": w.response})
}

func (w *responseWriter) end() {
	r := w.response
	r.end(w.last, w.used)
	w.stop(r.Status)
	r.keep(r)
	w.say("response."+r.Status, map[string]any{"response": r})
}

func (w *responseWriter) fail(e *apiError) {
	w.response.Status, w.response.Error = "failed", map[string]any{"code": "server_error", "message": e.Message}
	w.say("response.failed", map[string]any{"response": w.response})
}
