package checkup

import (
	"regexp"
	"strings"
)

// noise lists the lines of a Go traceback that are neither functions nor source lines.
var noise = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(` fp=0x\S+ sp=0x\S+ pc=0x\S+`), ""},
	{regexp.MustCompile(` gp=0x\S+ m=\S+ mp=\S+`), ""},
	{regexp.MustCompile(`\((\{*\[*(0x[0-9a-f]+\??|\.\.\.)[^\n]*)\)(\n|$)`), "(…)$3"},
	{regexp.MustCompile(` \+0x[0-9a-f]+(\n|$)`), "$1"},
}

// Said returns what the stage's process wrote to its standard error. Of a crash, only the goroutine that
// crashed is kept, without addresses. It is empty if the process has finished, as its rows then say
// everything that matters.
func (r *Result) Said() string {
	if r.ended {
		return ""
	}
	text := strings.TrimSpace(r.Outcome.Said)
	const goroutine = "\n\ngoroutine "
	if at := strings.Index(text, goroutine); at >= 0 {
		end := len(text)
		for _, mark := range []string{"\n\n", "\n… "} {
			if i := strings.Index(text[at+len(goroutine):], mark); i >= 0 {
				end = min(end, at+len(goroutine)+i)
			}
		}
		text = text[:end]
		for _, n := range noise {
			text = n.find.ReplaceAllString(text, n.put)
		}
	}
	return text
}
