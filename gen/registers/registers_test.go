package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/runtime/plan"
)

// check checks that no kernel spills registers.
func check(t *testing.T, b *plan.Bundle, list []kernel) {
	t.Helper()
	for _, k := range list {
		if k.registers > most || k.spill > 0 {
			t.Errorf("%s: %s takes %d registers and spills %d bytes; expected at most %d and none", b.Name, k.name, k.registers, k.spill, most)
		}
		if manyRows(kernelOf(b, k.name)) && (k.memory > mostMemory || k.memory == 0) {
			t.Errorf("%s: %s takes %d bytes of threadgroup memory; expected up to %d", b.Name, k.name, k.memory, mostMemory)
		}
	}
}

// mostMemory is how many bytes of threadgroup memory kernels of products have that Apple GPUs were found to be fast
// with: see products of gen/target.
const mostMemory = 10000

// manyRows reports whether a kernel multiplies the inputs of several rows in matrices.
func manyRows(k *plan.Kernel) bool {
	return slices.ContainsFunc(k.Parts, func(p plan.Part) bool {
		switch p.(type) {
		case *plan.AttendHeads, *plan.ExpandHeads:
			return true
		}
		m := plan.ProductOf(p)
		return m != nil && m.Tokens >= 8
	})
}

// TestOne counts one product of a prompt; the deep tier counts all kernels.
func TestOne(t *testing.T) {
	if err := has(); err != nil {
		t.Fatal(err)
	}
	of, err := bundles(filepath.Join("..", "..", "specs", "youtumini.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := countFunctions(of[0], []string{"lm_head_x16_q6_k"})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].name != "lm_head_x16_q6_k" || list[0].registers < 32 {
		t.Errorf("%+v; expected one kernel of more registers than its matrices of results", list)
	}
	check(t, of[0], list)
}

// TestParse: figures belong to the kernel before them, and none may be missing.
func TestParse(t *testing.T) {
	const one = "\t.type\ta,@function\n; NumVgprs: 12\n; ScratchSize: 0\n"
	list, err := parse(facts("; some\n" + one + "\t.type\tb,@function\n; TotalNumSgprs: 4\n; NumVgprs: 7\n; ScratchSize: 16\n"))
	if err != nil || len(list) != 2 || list[0] != (kernel{"a", 12, 0, 0}) || list[1] != (kernel{"b", 7, 16, 0}) {
		t.Errorf("%+v, %v", list, err)
	}
	for text, want := range map[string]string{"": "no kernels", "; NumVgprs: 12\n": "before the first kernel", strings.Replace(one, "; ScratchSize: 0", "", 1): "does not say what a takes"} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
}

// TestTable checks that writing a table keeps its earlier entries.
func TestTable(t *testing.T) {
	now := table{{"x", kernel{"a", 12, 0, 0}}, {"x", kernel{"b", 7, 16, 32}}}
	text := now.text(table{{"x", kernel{"b", 256, 90, 0}}})
	if !strings.Contains(text, "x\ta\t12\t0\t-\t-\t0\n") || !strings.Contains(text, "x\tb\t7\t16\t256\t90\t32\n") {
		t.Error(text)
	}
	before, err := parseTable(text)
	if err != nil || now.text(before) != strings.Replace(text, "12\t0\t-\t-", "12\t0\t12\t0", 1) {
		t.Errorf("%+v, %v", before, err)
	}
}
