package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestUpToDate regenerates the assembly, twice: the output must be the files of
// package linalg, byte for byte.
func TestUpToDate(t *testing.T) {
	for range 2 {
		files, err := generate()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			got, err := os.ReadFile("../../" + name)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s is not what the generator writes; run: go generate ./runtime/device/linalg", name)
			}
		}
	}
}

// TestAVX2Registers checks that a register from 16 on makes an instruction one of AVX-512.
func TestAVX2Registers(t *testing.T) {
	assembly, err := os.ReadFile("../../zdot_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	beyond := regexp.MustCompile(`\b[XYZ](1[6-9]|2\d|3[01])\b|\bZ\d`)
	functions := regexp.MustCompile(`(?m)^TEXT `).Split(string(assembly), -1)[1:]
	n := 0
	for _, f := range functions {
		name, body, _ := strings.Cut(f, "(SB)")
		if !strings.HasSuffix(name, "AVX2") {
			continue
		}
		n++
		if m := beyond.FindString(body); m != "" {
			t.Errorf("%s uses %s", name, m)
		}
	}
	if n == 0 {
		t.Error("no function is for AVX2")
	}
}
