package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

// formats are the values of bench's -o.
var formats = map[string]func(w io.Writer, setup string, results []speed) error{
	"md": writeMarkdown, "json": writeJSON, "csv": writeCSV,
}

func formatNames() []string { return slices.Sorted(maps.Keys(formats)) }

// writeMarkdown has a line about what was measured above the table.
func writeMarkdown(w io.Writer, setup string, results []speed) error {
	text := setup + "\n\n| test | depth | batch | tok/s | sd | first token |\n|---|---:|---:|---:|---:|---:|\n"
	for _, r := range results {
		text += fmt.Sprintf("| %s | %d | %d | %.2f | %.2f | %s |\n", r.Test, r.Depth, r.Batch, r.TokS, r.SD, r.first(" s"))
	}
	_, err := io.WriteString(w, text)
	return err
}

func writeJSON(w io.Writer, _ string, results []speed) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(results)
}

func writeCSV(w io.Writer, _ string, results []speed) error {
	rows := [][]string{{"test", "act", "depth", "batch", "tok_s", "sd", "first_s"}}
	for _, r := range results {
		rows = append(rows, []string{r.Test, r.Act, strconv.Itoa(r.Depth), strconv.Itoa(r.Batch), fmt.Sprintf("%.4f", r.TokS), fmt.Sprintf("%.4f", r.SD), r.first("")})
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// first is the time to the first token, with a unit; "" where there is none.
func (r *speed) first(unit string) string {
	if r.First == 0 {
		return ""
	}
	return fmt.Sprintf("%.4f%s", r.First, unit)
}
