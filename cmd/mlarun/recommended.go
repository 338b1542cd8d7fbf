package main

import (
	"fmt"
	"strings"

	"mla/runtime/gguf"
)

// recommendedPrefix is the prefix of the keys with which a file recommends sampling parameters, as llama.cpp
// writes and reads them.
const recommendedPrefix = "general.sampling."

// sequenceKey is the only key with a text, the names of samplers.
const sequenceKey = "sequence"

// recommendedFlags are the flags that such keys set.
var recommendedFlags = []struct{ key, flag string }{
	{"temp", "temp"},
	{"top_k", "top-k"},
	{"top_p", "top-p"},
	{"min_p", "min-p"},
	{"penalty_repeat", "repeat-penalty"},
	{"penalty_last_n", "repeat-last-n"},
	{"penalty_freq", "frequency-penalty"},
	{"penalty_present", "presence-penalty"},
	{"xtc_probability", "xtc-probability"},
	{"xtc_threshold", "xtc-threshold"},
	{"mirostat", "mirostat"},
	{"mirostat_tau", "mirostat-ent"},
	{"mirostat_eta", "mirostat-lr"},
	{sequenceKey, "samplers"},
}

// recommended applies the model file's recommendations to flags that are not given, and prints them in a
// line. Values that are invalid for a flag are ignored.
func (s *sampling) recommended(file *gguf.File) {
	var taken, refused []string
	for _, r := range recommendedFlags {
		v, ok := file.Lookup(recommendedPrefix + r.key)
		if !ok || s.flags.given(r.flag) {
			continue
		}
		before := s.params
		text, err := numeral(v)
		if r.key == sequenceKey {
			text, err = v.Text()
		}
		if err == nil {
			err = s.flags.Lookup(r.flag).Value.Set(text)
		}
		if err == nil {
			err = s.valid()
		}
		if err != nil {
			s.params = before
			refused = append(refused, fmt.Sprintf("%s%s: %v", recommendedPrefix, r.key, err))
			continue
		}
		taken = append(taken, "-"+r.flag+" "+text)
	}
	if len(taken) > 0 {
		s.flags.note("as the file recommends: %s\n", strings.Join(taken, " "))
	}
	if len(refused) > 0 {
		s.flags.note("not as the file recommends: %s\n", strings.Join(refused, "; "))
	}
}

// numeral formats a number for a flag.
func numeral(v gguf.Value) (string, error) {
	if v.Kind() == gguf.KindString || v.Kind() == gguf.KindArray || v.Kind() == gguf.KindBool {
		return "", fmt.Errorf("%.64s is no number", v)
	}
	return v.String(), nil
}
