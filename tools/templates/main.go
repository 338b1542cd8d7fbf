// Command templates renders Jinja templates with package jinja. compare.py in this folder compares the
// results with Python's. Each line of the input is {"template": text, "vars": object}, each line of the
// output {"text": …} or {"error": …}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"mla/runtime/text/chat/jinja"
)

// now is the time that the templates see. compare.py uses the same one.
var now = time.Date(2026, time.March, 4, 17, 5, 9, 81000, time.UTC)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for in.More() {
		var job struct {
			Template string
			Vars     map[string]json.RawMessage
		}
		if err := in.Decode(&job); err != nil {
			return err
		}
		result := map[string]string{}
		if text, err := render(job.Template, job.Vars); err != nil {
			result["error"] = err.Error()
		} else {
			result["text"] = text
		}
		if err := lines.Encode(result); err != nil {
			return err
		}
	}
	return out.Flush()
}

func render(template string, texts map[string]json.RawMessage) (string, error) {
	parsed, err := jinja.Parse(template)
	if err != nil {
		return "", err
	}
	vars := map[string]any{}
	for name, text := range texts {
		if vars[name], err = jinja.FromJSON(text, false); err != nil {
			return "", fmt.Errorf("the variable %s: %w", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return parsed.Render(ctx, vars, now)
}
