package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// spills are kernels that need more registers than there are, by the beginning of their names: how many bytes
// spill at most, and why they may.
var spills = []struct {
	name string
	most int
	why  string
}{
	{"attention_x512", 520, "a simdgroup keeps its queries and results of heads of 256 columns"},
	{"expand_keys_expand_values_x512_q4_0_q8_0", 20, "a cache of Q8_0 has scales on their way too"},
}

// check wants kernels that spill nothing, or no more than is known.
func check(t *testing.T, bundle string, list []kernel) {
	t.Helper()
	for _, k := range list {
		allowed := 0
		for _, s := range spills {
			if strings.HasPrefix(k.name, s.name) {
				allowed = s.most
			}
		}
		if k.registers > most || k.spill > allowed {
			t.Errorf("%s: %s takes %d registers and spills %d bytes; expected at most %d and %d", bundle, k.name, k.registers, k.spill, most, allowed)
		}
	}
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
	check(t, of[0].Name, list)
}

// TestParse: figures belong to the kernel before them, and none may be missing.
func TestParse(t *testing.T) {
	const one = "\t.type\ta,@function\n; NumVgprs: 12\n; ScratchSize: 0\n"
	list, err := parse(facts("; some\n" + one + "\t.type\tb,@function\n; TotalNumSgprs: 4\n; NumVgprs: 7\n; ScratchSize: 16\n"))
	if err != nil || len(list) != 2 || list[0] != (kernel{"a", 12, 0}) || list[1] != (kernel{"b", 7, 16}) {
		t.Errorf("%+v, %v", list, err)
	}
	for text, want := range map[string]string{"": "no kernels", "; NumVgprs: 12\n": "before the first kernel", strings.Replace(one, "; ScratchSize: 0", "", 1): "does not say what a takes"} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", text, err, want)
		}
	}
}

// TestTable: what a table had before stays in it.
func TestTable(t *testing.T) {
	now := table{{"x", kernel{"a", 12, 0}}, {"x", kernel{"b", 7, 16}}}
	text := now.text(table{{"x", kernel{"b", 256, 90}}})
	if !strings.Contains(text, "x\ta\t12\t0\t-\t-\n") || !strings.Contains(text, "x\tb\t7\t16\t256\t90\n") {
		t.Error(text)
	}
	before, err := parseTable(text)
	if err != nil || now.text(before) != strings.Replace(text, "12\t0\t-\t-", "12\t0\t12\t0", 1) {
		t.Errorf("%+v, %v", before, err)
	}
}
