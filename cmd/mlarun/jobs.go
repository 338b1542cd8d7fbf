package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mla/runtime/sample"
)

// job is a line of -parallel's input.
type job struct {
	Prompt *string  `json:"prompt"`
	Max    *int     `json:"n"`
	Temp   *float32 `json:"temp"`
	Seed   *uint64  `json:"seed"`
	Stop   []string `json:"stop"`

	turn   turn
	params sample.Params
}

// readJobs reads prompts, one a line; blank lines are none.
func (s *settings) readJobs(text string) (jobs []*job, lines []int, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		j, err := s.readJob(line)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", number, err)
		}
		jobs, lines = append(jobs, j), append(lines, number)
	}
	if len(jobs) == 0 {
		return nil, nil, errors.New("there is no prompt: every line is blank")
	}
	return jobs, lines, nil
}

func (s *settings) readJob(line string) (*job, error) {
	j := &job{Prompt: &line}
	if strings.HasPrefix(strings.TrimSpace(line), "{") {
		j.Prompt = nil
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(j); err != nil {
			return nil, err
		}
		if d.More() {
			return nil, errors.New("more than one object")
		}
	}
	if j.Prompt == nil || *j.Prompt == "" {
		return nil, errors.New(`"prompt" is missing or empty`)
	}
	j.Max = cmp.Or(j.Max, &s.max)
	if j.Stop == nil {
		j.Stop = s.sampling.stops
	}
	if *j.Max < -1 {
		return nil, fmt.Errorf(`"n" is %d; expected -1 or more`, *j.Max)
	}
	return j, j.sampled(s.sampling.params)
}

// sampled completes what the line says about how tokens are picked.
func (j *job) sampled(p sample.Params) error {
	j.params = p
	j.params.Temperature = *cmp.Or(j.Temp, &p.Temperature)
	j.params.Seed = *cmp.Or(j.Seed, &p.Seed)
	_, err := sample.New(j.params)
	return err
}
