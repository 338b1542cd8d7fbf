package output

import "testing"

// TestEndThoughts: after thoughts that were ended for the model, its own end of them is
// dropped, once, however the text is cut.
func TestEndThoughts(t *testing.T) {
	for text, want := range map[string]string{
		"I am</think> not done. </think>Yes.</think>":            "thought I am\ntext  not done. Yes.</think>",
		"I am</think>\n</think>\n\nYes.":                         "thought I am\ntext Yes.",
		"I am</think>done</th":                                   "thought I am\ntext done</th",
		"I am</think>done\n</think>\n<tool_call>now</tool_call>": "thought I am\ntext done\n\ncall now\nargs {}\nend",
	} {
		for _, size := range []int{1, 3, len(text)} {
			p := New(Config{Format: format(t, "glm"), Tools: tools, Thinking: true})
			p.EndThoughts()
			var events []Event
			for at := 0; at < len(text); at += size {
				events = append(events, p.Push(text[at:min(len(text), at+size)])...)
			}
			if got := list(append(events, p.Close()...)); got != want {
				t.Errorf("%q in pieces of %d:\n%s\nexpected\n%s", text, size, got, want)
			}
		}
	}
	p := New(Config{Thinking: true})
	p.EndThoughts()
	if got := list(append(p.Push("a</think>b</think>c"), p.Close()...)); got != "thought a\ntext bc" {
		t.Error(got)
	}
}
