package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Limits on one request.
const (
	maxChoices = 16
	maxStops   = 32
	maxStop    = 1024    // in bytes
	maxTexts   = 1 << 20 // bytes of a list, with quotes and escapes
	maxTop     = 20      // most likely tokens
	maxBiases  = 4096
	maxLastN   = 1 << 16
	maxEnds    = 4096 // ids that end an answer
)

// texts is a string or a list of strings. Empty ones are ignored.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(data []byte) error {
	if len(data) > maxTexts {
		return fmt.Errorf("a list of texts has %d bytes; expected at most %d", len(data), maxTexts)
	}
	if data[0] == '"' {
		*t = texts{""}
		if err := json.Unmarshal(data, &(*t)[0]); err != nil {
			return err
		}
	} else if err := json.Unmarshal(data, (*[]string)(t)); err != nil {
		return err
	}
	*t = slices.DeleteFunc(*t, func(text string) bool { return text == "" })
	return nil
}

// check checks texts that end an answer.
func (t texts) check(param string) error {
	if len(t) > maxStops {
		return bad(param, "more than %d texts", maxStops)
	}
	for _, text := range t {
		if len(text) > maxStop || strings.ContainsRune(text, 0) {
			return bad(param, "a text has %d bytes; expected at most %d, without NUL", len(text), maxStop)
		}
	}
	return nil
}

// isFalse says whether a request has a field with the value false.
func isFalse(field *bool) bool { return field != nil && !*field }

// most is the most tokens of an answer: the request's number, or as many as fit.
func most(param string, n *int) (int, error) {
	switch {
	case n == nil || *n == -1:
		return -1, nil
	case *n < 0:
		return 0, bad(param, "%d; expected 0 or more", *n)
	}
	return *n, nil
}

// choices checks the number of answers that a request wants.
func choices(n *int) (int, error) {
	if n == nil {
		return 1, nil
	}
	if *n < 1 || *n > maxChoices {
		return 0, bad("n", "%d; expected 1 to %d", *n, maxChoices)
	}
	return *n, nil
}
