package server

import (
	"time"

	"mla/runtime/engine"
)

// progressFields is llama-server's fields about further contents of a stream.
type progressFields struct {
	Progress bool `json:"return_progress"`   // progress of the prompt
	PerToken bool `json:"timings_per_token"` // timings in every piece
}

// promptProgress is the progress of a prompt, in llama-server's format.
type promptProgress struct {
	Total     int   `json:"total"`     // tokens
	Cache     int   `json:"cache"`     // tokens of these found in the caches
	Processed int   `json:"processed"` // tokens found or run
	Time      int64 `json:"time_ms"`
}

// pace is what a choice knows about its own speed while it runs.
type pace struct {
	prompt  promptProgress
	elapsed time.Duration // of the prompt
	first   time.Time     // time of the first token
	tokens  int
}

// timings is the timings of the tokens so far.
func (p *pace) timings() *timings {
	e := ending{result: engine.Result{Reused: p.prompt.Cache, Tokens: make([]int32, p.tokens)}}
	e.result.Prompt = engine.Timing{Tokens: p.prompt.Processed - p.prompt.Cache, Elapsed: p.elapsed}
	if p.tokens > 0 {
		e.result.Decode = engine.Timing{Tokens: p.tokens - 1, Elapsed: time.Since(p.first)}
	}
	return e.timings()
}

// prompted records the progress of the prompt, and sends it to a client that wants it. The first event has
// the tokens that were found in the caches.
func (c *choice) prompted(done, reused int, elapsed time.Duration) {
	if c.progress && c.pace.prompt.Processed == 0 && done > reused {
		c.push(event{choice: c.number, progress: &promptProgress{Total: c.pace.prompt.Total, Cache: reused, Processed: reused}})
	}
	c.pace.elapsed = elapsed
	c.pace.prompt.Processed, c.pace.prompt.Cache, c.pace.prompt.Time = done, reused, elapsed.Milliseconds()
	if c.progress {
		now := c.pace.prompt
		c.push(event{choice: c.number, progress: &now})
	}
}
