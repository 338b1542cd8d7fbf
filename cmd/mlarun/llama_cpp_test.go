package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestLlamaCpp: mlarun has every flag that docs/llama-cpp.md lists as one of llama.cpp's.
func TestLlamaCpp(t *testing.T) {
	text, err := os.ReadFile("../../docs/llama-cpp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "with one dash or two.\n")
	list, _, _ = strings.Cut(list, "\nSampling is")
	known := map[string]bool{}
	for _, args := range [][]string{{"-h"}, {"serve", "-h"}} {
		for _, m := range regexp.MustCompile(`(?m)^ *((-[a-z0-9-]+(, )?)+)`).FindAllStringSubmatch(mlarun("", args...).out, -1) {
			for _, name := range strings.Split(m[1], ", ") {
				known[name] = true
			}
		}
	}
	flags := regexp.MustCompile("`(-[a-z-]+)`").FindAllStringSubmatch(list, -1)
	for _, f := range flags {
		if !known[f[1]] {
			t.Errorf("docs/llama-cpp.md: there is no %s", f[1])
		}
	}
	if len(flags) < 30 {
		t.Errorf("docs/llama-cpp.md names %d flags; expected 30 and more", len(flags))
	}
}
