// Package jobs reads the input of -parallel: a line is a prompt, or an object with a prompt and its options.
package jobs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mla/runtime/text/sample"
)

// Job is a line. Missing fields are nil, except Max and Stop, which Read fills in.
type Job struct {
	Prompt *string  `json:"prompt"` // never empty
	Max    *int     `json:"n"`      // in tokens; -1: up to the end of the context
	Temp   *float32 `json:"temp"`
	Seed   *uint64  `json:"seed"`
	Stop   []string `json:"stop"`

	Line int `json:"-"` // number of the line, from 1
}

// Read parses a text. Blank lines are skipped. max and stop apply to lines without their own; max is a
// pointer because its value may still change. The temperature and the seed of a line must be valid together
// with params. Errors name the line.
func Read(text string, max *int, stop []string, params sample.Params) (list []*Job, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		j := &Job{Line: number}
		if err := j.read(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		j.Max = cmp.Or(j.Max, max)
		if j.Stop == nil {
			j.Stop = stop
		}
		if *j.Max < -1 {
			return nil, fmt.Errorf(`line %d: "n" is %d; expected -1 or more`, number, *j.Max)
		}
		own := j.Sampling(params)
		if err := own.Check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		list = append(list, j)
	}
	if len(list) == 0 {
		return nil, errors.New("there is no prompt: every line is blank")
	}
	return list, nil
}

func (j *Job) read(line string) error {
	j.Prompt = &line
	if strings.HasPrefix(strings.TrimSpace(line), "{") {
		j.Prompt = nil
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(j); err != nil {
			return explain(err)
		}
		if d.More() {
			return errors.New("more than one object")
		}
	}
	if j.Prompt == nil || *j.Prompt == "" {
		return errors.New(`"prompt" is missing or empty`)
	}
	return nil
}

// kinds are the types of the fields, in the words of JSON.
var kinds = map[string]string{"prompt": "a string", "n": "a whole number", "temp": "a number", "seed": "a whole number from 0 on", "stop": "a list of strings"}

// explain says which field has a value of the wrong type, and which type was expected.
func explain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && kinds[wrong.Field] != "" {
		return fmt.Errorf("%q is a %s; expected %s", wrong.Field, wrong.Value, kinds[wrong.Field])
	}
	return err
}

// Sampling returns p with the line's own temperature and seed.
func (j *Job) Sampling(p sample.Params) sample.Params {
	p.Temperature = *cmp.Or(j.Temp, &p.Temperature)
	p.Seed = *cmp.Or(j.Seed, &p.Seed)
	return p
}
