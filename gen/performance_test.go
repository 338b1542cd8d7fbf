package gen_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// measured is a row of docs/performance.json.
type measured struct {
	Model, Quant, Act, Simd, Date, Commit string
	TokS                                  float64 `json:"tok_s"`
	LlamaCpp                              float64 `json:"llamacpp_tok_s"`
}

var (
	section = regexp.MustCompile(`(?m)^### .*, (\d{4}-\d\d-\d\d), commit ([0-9a-f]{7})$`)
	figure  = regexp.MustCompile(`^([\d,.]+)(?: \(([\d,.]+), ([\d.]+) ×\))?$`)
	modelOf = map[string]string{"Youtu-LLM-2B": "youtu2b", "DeepSeek-V2-Lite": "deepseekv2lite", "GLM-4.7-Flash": "glm47flash",
		"Ling-3.0-tiny": "ling3tiny", "Kimi-Linear-48B-A3B": "kimilinear"}
	actsOf   = map[string]string{"CODEf32": "f32", "CODEq8": "q8"}
	actInRow = regexp.MustCompile("`-act (f32|q8)`")
)

// TestPerformance: each figure of the tables in docs/performance.md is one of
// docs/performance.json, of the date and the commit above the table, and each ratio is that of
// the two figures before it.
func TestPerformance(t *testing.T) {
	var rows []measured
	if err := json.Unmarshal(read(t, "docs/performance.json"), &rows); err != nil {
		t.Fatal(err)
	}
	text := string(read(t, "docs/performance.md"))
	at, count := section.FindAllStringSubmatchIndex(text, -1), 0
	for _, m := range at {
		date, commit := text[m[2]:m[3]], text[m[4]:m[5]]
		table, _, _ := strings.Cut(text[m[1]:], "\n\n#")
		var head []string
		for line := range strings.Lines(table) {
			if !strings.HasPrefix(line, "| ") {
				continue
			}
			cells := strings.Split(strings.Trim(actInRow.ReplaceAllString(line, "CODE$1"), "|\n "), " | ")
			if head == nil {
				head = cells
				continue
			}
			for i, cell := range cells[1:] {
				f := figure.FindStringSubmatch(cell)
				if f == nil {
					t.Errorf("docs/performance.md: %q is no figure", cell)
					continue
				}
				found := false
				for _, r := range rows {
					model, act := modelOf[head[i+1]], actsOf[head[i+1]]
					ratio := fmt.Sprintf("%.1f", r.TokS/r.LlamaCpp)
					found = found || r.Date == date && r.Commit == commit && (r.Model == model || model == "" && r.Act == act) &&
						shown(r.TokS) == f[1] && (f[2] == "" || shown(r.LlamaCpp) == f[2] && ratio == f[3])
				}
				if !found {
					t.Errorf("docs/performance.md has %s of %s, %s; docs/performance.json has no such row of %s, %s", cell, head[i+1], cells[0], date, commit)
				}
				count++
			}
		}
	}
	if count < 35 {
		t.Errorf("%d figures found; expected 35 and more: are the tables written otherwise now?", count)
	}
}

// shown is a speed as tables have it: whole tokens from 100 on, else tenths.
func shown(speed float64) string {
	if speed < 100 {
		return fmt.Sprintf("%.1f", speed)
	}
	s := fmt.Sprint(int(math.Round(speed)))
	if len(s) > 3 {
		s = s[:len(s)-3] + "," + s[len(s)-3:]
	}
	return s
}
