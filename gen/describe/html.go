package describe

import (
	"bytes"
	_ "embed"
	"html/template"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// HTML returns the report as a self-contained page: a token's dispatches as a timeline, with what each moves
// and which ops are fused in it.
func (r *Report) HTML() ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		*Report
		Timings []Timing
	}{r, r.timings()})
	return b.Bytes(), err
}
