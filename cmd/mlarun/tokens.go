package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"mla/runtime/system/userfile"
)

// parseTokens parses token ids that are separated by commas or white space.
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

// formatTokens formats ids in the syntax of parseTokens.
func formatTokens(ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(int(id))
	}
	return strings.Join(words, " ")
}

// tokenFlag parses the value of -tokens, which must not be empty.
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

// source says where a text comes from: a flag, a file or stdin.
type source struct {
	text, file string
	chat       bool // piped input is messages, not this text
}

func (f *flags) source(what string) *source {
	s := &source{}
	f.StringVar(&s.text, "p", "", what)
	f.StringVar(&s.file, "f", "", "read the text from a `file`, - for stdin")
	return s
}

// maxText is the greatest length of a text in bytes: more than any context holds.
const maxText = 64 << 20

// read returns the text. ok is false if the command line gives none and nothing was piped to the program.
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
	case len(from) == 0 && s.chat:
		return "", false, nil
	case len(from) == 0:
		return f.piped()
	case stdin || s.file == "-":
		text, err = readText("stdin", f.env.in)
		return text, true, err
	case f.given("f"):
		file, err := userfile.OpenPiped(s.file)
		if err != nil {
			return "", false, err
		}
		defer closing(file, &err)
		text, err = readText(s.file, file)
		return text, true, err
	}
	return s.text, true, nil
}

// piped returns the text on stdin. There is none if stdin is a terminal or empty.
func (f *flags) piped() (text string, ok bool, err error) {
	if _, interactive := terminal(f.env.in); interactive {
		return "", false, nil
	}
	text, err = readText("stdin", f.env.in)
	return text, text != "", err
}

// readText reads a whole file, and refuses one that is too long, as files may be endless.
func readText(name string, r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err == nil && len(data) > maxText {
		err = fmt.Errorf("%s has more than %d MiB, which no context holds", name, maxText>>20)
	}
	return string(data), err
}
