package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
)

// parseTokens reads token ids that are separated by commas or white space.
func parseTokens(text string) ([]int32, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	ids := make([]int32, len(words))
	for i, w := range words {
		id, err := strconv.ParseInt(w, 10, 32)
		if err != nil || id < 0 {
			return nil, fmt.Errorf("token %d is %q; expected a number from 0", i, w)
		}
		ids[i] = int32(id)
	}
	return ids, nil
}

// formatTokens writes ids as parseTokens reads them.
func formatTokens(ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(int(id))
	}
	return strings.Join(words, " ")
}

// tokenFlag reads the value of -tokens, which must not be empty.
func (f *flags) tokenFlag(text string) ([]int32, error) {
	ids, err := parseTokens(text)
	if err != nil {
		return nil, f.wrong("-tokens: %v", err)
	}
	if len(ids) == 0 {
		return nil, f.wrong("-tokens is missing")
	}
	return ids, nil
}

// source is where a text comes from: a flag, a file or stdin.
type source struct {
	text, file string
}

func (f *flags) source(what string) *source {
	s := &source{}
	f.StringVar(&s.text, "p", "", what)
	f.StringVar(&s.file, "f", "", "read the text from a `file`, - for stdin")
	return s
}

// read returns the text; ok is false if there is none on the command line.
func (s *source) read(f *flags, stdin bool) (text string, ok bool, err error) {
	var from []string
	for _, name := range []string{"p", "f"} {
		if f.given(name) {
			from = append(from, "-"+name)
		}
	}
	if stdin {
		from = append(from, "-")
	}
	switch {
	case len(from) > 1:
		return "", false, f.wrong("%s cannot be used together", strings.Join(from, " and "))
	case len(from) == 0:
		return "", false, nil
	case stdin || s.file == "-":
		data, err := io.ReadAll(f.env.in)
		return string(data), true, err
	case f.given("f"):
		data, err := os.ReadFile(s.file)
		return string(data), true, err
	}
	return s.text, true, nil
}
