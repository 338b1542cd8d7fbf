package describe

import (
	"bytes"
	_ "embed"
	"html/template"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// HTML is the report as a page that needs nothing else: a token's dispatches as a timeline,
// with what each moves and which ops it has fused.
func (r *Report) HTML() ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		*Report
		Timings []Timing
	}{r, r.timings()})
	return b.Bytes(), err
}
