package server

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// sse writes server-sent events.
type sse struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	err error // the first error
}

// newSSE begins a response of events.
func (s *Server) newSSE(w http.ResponseWriter) *sse {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // keeps nginx from buffering
	w.WriteHeader(http.StatusOK)
	out := &sse{w: w, rc: http.NewResponseController(w)}
	out.flush(nil)
	return out
}

// event writes an event with data, and with a name unless that is empty.
func (o *sse) event(name string, data any) {
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil && o.err == nil {
		o.err = err
	}
	b.WriteString("\n") // the encoder has written the first one
	o.flush(b.Bytes())
}

// text writes data that is not JSON.
func (o *sse) text(data string) { o.flush([]byte(data + "\n\n")) }

func (o *sse) flush(data []byte) {
	if o.err != nil {
		return
	}
	if _, o.err = o.w.Write(data); o.err == nil {
		o.err = o.rc.Flush()
	}
}

// writer writes a stream in the format of one API.
type writer interface {
	// event writes an event of a choice.
	event(e event)
	// ping is called when nothing was written for a while.
	ping()
	// end ends the response after all choices have ended.
	end()
	// fail ends the response with an error.
	fail(e *apiError)
}

// pump writes a stream until it ends or the client has disconnected, and logs what it has used.
func (s *Server) pump(r *http.Request, st *stream, o *sse, w writer) error {
	defer st.settle(r)
	for o.err == nil && !st.done() {
		events, err := st.next(r.Context(), s.cfg.Limits.Ping)
		if err != nil {
			failed(r, w, err)
			return nil
		}
		if len(events) == 0 {
			w.ping()
		}
		for _, e := range events {
			if e.end != nil && e.end.err != nil {
				failed(r, w, e.end.err)
				return nil
			}
			w.event(e)
		}
	}
	if o.err == nil {
		w.end()
	}
	if o.err != nil {
		noted(r).fail(unwritten(o.err))
	}
	return nil
}

// failed ends a stream with an error.
func failed(r *http.Request, w writer, err error) {
	said := explain(err)
	noted(r).fail(said)
	w.fail(said)
}
