package main

import (
	"strings"
	"testing"
)

// TestForeign: flags of llama.cpp that change no text are passed over, with their values, and said.
func TestForeign(t *testing.T) {
	plain := mlarun("", "tokenize", "-m", tinychat, "-p", "Hello")
	for args, want := range map[string]string{
		"-ngl 99 -fa -b 512":          "-ngl is ignored: a model runs on one device, all of it: -device\n-fa is ignored: ",
		"--n-gpu-layers=99 -fa on":    "-n-gpu-layers is ignored: ",
		"-fa off --no-mmap --mlock":   "-no-mmap is ignored: files are always mapped\n-mlock is ignored: ",
		"--jinja -ctv q8_0 --no-perf": "-ctv is ignored: keys and values are one latent vector",
	} {
		for _, list := range [][]string{append(strings.Fields(args), "-p", "Hello"), append([]string{"-p", "Hello"}, strings.Fields(args)...)} {
			r := mlarun("", append([]string{"tokenize", "-m", tinychat}, list...)...)
			if r.code != 0 || r.out != plain.out || !strings.Contains(r.err, want) {
				t.Errorf("%q: code %d, %q\n%s", list, r.code, r.out, r.err)
			}
		}
	}
	if r := mlarun("", "tokenize", "-m", tinychat, "-p", "Hello", "-ngl"); r.code != 0 || r.out != plain.out {
		t.Errorf("without a value: %+v", r)
	}
}

// TestForeignTables: no flag of another program is in both tables, or is a flag of this one.
func TestForeignTables(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range append(append([]foreign{}, ignored...), refused...) {
		for _, name := range strings.Fields(o.names) {
			if seen[name] {
				t.Errorf("-%s stands there twice", name)
			}
			seen[name] = true
			if r := mlarun("", "-"+name, "x"); strings.Contains(r.err, "-model is missing") && o.value == none {
				t.Errorf("-%s is a flag of this program", name)
			}
		}
	}
}
