package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"mla/runtime/engine"
)

// formats are the values of bench's -o.
var formats = map[string]func(w io.Writer, setup string, results []speed) error{
	"md": writeMarkdown, "json": writeJSON[speed], "jsonl": writeJSONLines[speed], "csv": writeCSV[speed],
}

func formatNames() []string { return slices.Sorted(maps.Keys(formats)) }

// writeMarkdown writes a line about the setup above a table.
func writeMarkdown(w io.Writer, setup string, results []speed) error {
	text := setup + "\n\n| test | depth | batch | tok/s | sd | first token |\n|---|---:|---:|---:|---:|---:|\n"
	for _, r := range results {
		text += fmt.Sprintf("| %s | %d | %d | %.2f | %.2f | %s |\n", r.Test, r.Depth, r.Batch, r.TokS, r.SD, r.first())
	}
	if n := len(results); n > 0 {
		r := &results[n-1]
		text += fmt.Sprintf("\nmlarun %s, %s, %s; at most %s of memory\n", r.Version, r.Go, r.Platform, engine.Size(r.Peak))
	}
	_, err := io.WriteString(w, text)
	return err
}

// first formats the time to the first token; "" if there is none.
func (r *speed) first() string {
	if r.First == 0 {
		return ""
	}
	return fmt.Sprintf("%.4f s", r.First)
}

// writeJSON writes one array.
func writeJSON[Row any](w io.Writer, _ string, rows []Row) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

// writeJSONLines writes an object a line.
func writeJSONLines[Row any](w io.Writer, _ string, rows []Row) error {
	enc := json.NewEncoder(w)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes the names of the JSON fields as the header. Fields that JSON omits are empty.
func writeCSV[Row any](w io.Writer, _ string, rows []Row) error {
	fields := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[Row]()), func(f reflect.StructField) bool { return f.Anonymous })
	var head []string
	for _, f := range fields {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		head = append(head, name)
	}
	table := [][]string{head}
	for _, r := range rows {
		var row []string
		for _, f := range fields {
			v := reflect.ValueOf(r).FieldByIndex(f.Index)
			text := fmt.Sprint(v)
			if strings.HasSuffix(f.Tag.Get("json"), ",omitempty") && v.IsZero() {
				text = ""
			}
			row = append(row, text)
		}
		table = append(table, row)
	}
	return csv.NewWriter(w).WriteAll(table)
}
