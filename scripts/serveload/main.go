// Command serveload measures what mlarun serve costs beside mlarun bench on the same model,
// and how it shares the device:
//
//	go build -o /tmp/mlarun ./cmd/mlarun
//	go run ./scripts/serveload -program bin/mlarun -model F [-threads 2] [-tests one,batch,arrivals,prefix,drafts,workers] [-o md|json]
//
// It starts servers and benchmarks itself, in turn, so that other work on the machine meets
// both. Prompts are lists of token ids that no two requests share. Figures are medians over
// rounds, with the least and the greatest. It needs Linux for workers (taskset).
// -with has flags for both, such as -with "-act f16 -bundle F.mla".
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// load is what is measured, and how much of it.
type load struct {
	mlarun, model string
	threads       int
	tokens        int // of an answer
	rounds        int
	width         int // streams of the test of a batch
	prompt        int // tokens of a request that arrives
	prefix        int // tokens of the prompt that is asked again
	rows          int // -prompt-rows
	with          []string
	device        string
	first         int32 // token of the next prompt
}

// row is a figure.
type row struct {
	Test   string  `json:"test"`
	Figure string  `json:"figure"`
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	Unit   string  `json:"unit"`
	Goal   string  `json:"goal,omitempty"`
	Met    *bool   `json:"met,omitempty"`
}

// newRow is a figure of several rounds.
func newRow(test, figure, unit string, values []float64) row {
	return row{Test: test, Figure: figure, Median: median(values), Least: slices.Min(values), Most: slices.Max(values), Unit: unit}
}

// atMost and atLeast add a goal for the median.
func (r row) atMost(goal float64) row  { return r.aim(fmt.Sprintf("≤ %g", goal), r.Median <= goal) }
func (r row) atLeast(goal float64) row { return r.aim(fmt.Sprintf("≥ %g", goal), r.Median >= goal) }

func (r row) aim(goal string, met bool) row {
	r.Goal, r.Met = goal, &met
	return r
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile is the value below which a share of all lies, q from 0 to 1.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// tests are what can be measured, by name.
var tests = []struct {
	name string
	run  func(l *load) ([]row, error)
}{{"one", (*load).one}, {"batch", (*load).batch}, {"arrivals", (*load).arrivals}, {"prefix", (*load).again}, {"drafts", (*load).drafts}, {"workers", (*load).workers}}

func main() {
	l := &load{first: 1}
	flag.StringVar(&l.mlarun, "program", "mlarun", "mlarun, built")
	flag.StringVar(&l.model, "model", "", "model file")
	flag.StringVar(&l.device, "device", "cpu", "-device of mlarun")
	flag.IntVar(&l.threads, "threads", 2, "-threads of mlarun")
	flag.IntVar(&l.tokens, "n", 48, "tokens of an answer")
	flag.IntVar(&l.rounds, "r", 5, "rounds")
	flag.IntVar(&l.width, "width", 32, "streams of the test batch")
	flag.IntVar(&l.prompt, "p", 64, "tokens of the prompts that arrive")
	flag.IntVar(&l.rows, "prompt-rows", 16, "-prompt-rows of mlarun serve")
	flag.IntVar(&l.prefix, "prefix", 1024, "tokens of the prompt of the test prefix")
	with := flag.String("with", "", "more flags of mlarun bench and mlarun serve, separated by spaces")
	names := flag.String("tests", "one,batch,arrivals,prefix,drafts,workers", "what is measured, separated by commas")
	format := flag.String("o", "md", "md or json")
	flag.Parse()
	l.with = strings.Fields(*with)
	var rows []row
	for _, t := range tests {
		if !slices.Contains(strings.Split(*names, ","), t.name) {
			continue
		}
		found, err := t.run(l)
		if err != nil {
			fmt.Fprintf(os.Stderr, "serveload: %s: %v\n", t.name, err)
			os.Exit(1)
		}
		rows = append(rows, found...)
	}
	if err := write(os.Stdout, *format, rows); err != nil {
		fmt.Fprintln(os.Stderr, "serveload:", err)
		os.Exit(1)
	}
}

// write prints the figures.
func write(w io.Writer, format string, rows []row) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "\t")
		return enc.Encode(rows)
	}
	text := "| test | figure | median | least to greatest | goal | |\n|---|---|---:|---:|---|---|\n"
	for _, r := range rows {
		met := ""
		if r.Met != nil {
			met = map[bool]string{true: "met", false: "missed"}[*r.Met]
		}
		text += fmt.Sprintf("| %s | %s | %.4g %s | %.4g to %.4g | %s | %s |\n", r.Test, r.Figure, r.Median, r.Unit, r.Least, r.Most, r.Goal, met)
	}
	_, err := io.WriteString(w, text)
	return err
}
