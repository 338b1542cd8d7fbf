package server_test

import (
	"fmt"
	"testing"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/server"
)

// TestMoreChoicesThanSlots checks that the answers of one request run one after the other if they are more
// than may run at a time, also if no request may wait.
func TestMoreChoicesThanSlots(t *testing.T) {
	for _, queue := range []int{0, 1, 16} {
		s := serve(t, func(_ *server.Config, c *completion.Config) { c.Queue = queue }, completiontest.Answer{To: "Quick", Text: "Done."})
		for _, body := range []string{`{"prompt":"Quick","n":5}`, `{"prompt":"Quick","n":16}`, `{"prompt":["Quick","Quick","Quick","Quick","Quick"],"n":3}`, `{"prompt":"Quick","n":4}`} {
			var out struct {
				Choices []struct {
					Text  string
					Index int
				}
			}
			s.post("/v1/completions", body, &out)
			for i, c := range out.Choices {
				if c.Text != "Done." || c.Index != i {
					t.Errorf("queue %d: %s: %+v", queue, body, c)
				}
			}
			if want := map[string]int{`{"prompt":"Quick","n":5}`: 5, `{"prompt":"Quick","n":4}`: 4, `{"prompt":"Quick","n":16}`: 16}[body]; want != 0 && len(out.Choices) != want {
				t.Errorf("queue %d: %s: %d answers", queue, body, len(out.Choices))
			}
		}
		if n := len(s.service.Requests()); n != 0 {
			t.Error(fmt.Sprint(n, " requests are left"))
		}
	}
}
