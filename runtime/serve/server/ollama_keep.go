package server

import (
	"encoding/json"
	"math"
	"time"
)

// keepAlive is how long a model stays loaded after a request: seconds, or a text such as 5m. nil: the
// server's default; negative: until its memory is needed.
type keepAlive struct{ d *time.Duration }

// UnmarshalJSON implements json.Unmarshaler.
func (k *keepAlive) UnmarshalJSON(data []byte) error {
	var text string
	var seconds float64
	var d time.Duration
	switch {
	case string(data) == "null":
		return nil
	case json.Unmarshal(data, &seconds) == nil:
		const most = float64(math.MaxInt64 / time.Second)
		d = time.Duration(max(-1, min(seconds, most-1)) * float64(time.Second))
	case json.Unmarshal(data, &text) != nil:
		return bad("keep_alive", "expected seconds, or a text such as 5m")
	default:
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			return bad("keep_alive", "%q; expected seconds, or a text such as 5m", clip(text, 50))
		}
	}
	k.d = &d
	return nil
}

// ends says whether the model is to be unloaded at once.
func (k keepAlive) ends() bool { return k.d != nil && *k.d == 0 }

// withinContext limits the answer so that it has, with the prompt, at most num_ctx tokens. A longer prompt is
// not cut, as the server's context is large enough.
func (o *ollamaOptions) withinContext(s *Server, j *job) error {
	switch {
	case o.NumCtx == nil:
		return nil
	case *o.NumCtx < 1:
		return bad("options.num_ctx", "%d; expected 1 or more", *o.NumCtx)
	case *o.NumCtx > s.cfg.Context:
		s.cfg.Log.Info("num_ctx is more than the server's context, which its flag -c says", "num_ctx", *o.NumCtx, "context", s.cfg.Context)
		return nil
	}
	for _, prompt := range j.prompts {
		if left := *o.NumCtx - len(prompt); left > 0 && (j.Max < 0 || j.Max > left) {
			j.Max = left
		}
	}
	return nil
}
