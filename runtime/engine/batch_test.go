package engine

import (
	"fmt"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/plan"
)

// TestBatchRows checks how rows of sessions are split into replays. Sessions that decode share a replay up to the rows
// of the bundle's batches. A wider replay, with rows of a prompt, has logits of fewer rows.
func TestBatchRows(t *testing.T) {
	const context, width = 64, 512
	for _, c := range []struct {
		batch, decoding int
		prompt          int // rows of a prompt, after the decoding rows
		want            string
	}{
		{plan.DefaultBatch, 16, 0, "[16]"},
		{plan.DefaultBatch, 17, 0, "[16 1]"},
		{plan.DefaultBatch, 32, 0, "[16 16]"},
		{plan.DefaultBatch, 16, 40, "[56]"},
		{plan.DefaultBatch, 17, 40, "[16 41]"},
		{plan.LargestBatch, 16, 0, "[16]"},
		{plan.LargestBatch, 17, 0, "[17]"},
		{plan.LargestBatch, 31, 0, "[31]"},
		{plan.LargestBatch, 32, 0, "[32]"},
		{plan.LargestBatch, 33, 0, "[32 1]"},
		{plan.LargestBatch, 70, 0, "[32 32 6]"},
		{plan.LargestBatch, 16, 40, "[56]"},
		{plan.LargestBatch, 20, 12, "[32]"},
		{plan.LargestBatch, 20, 40, "[32 28]"},
	} {
		cfg := device.Config{Context: context, Width: width, Tables: c.decoding + 1}
		r := fake.New(fakeVocab, cfg)
		r.Batch = c.batch
		m, err := NewModel(r, fakeVocab, cfg)
		if err != nil {
			t.Fatal(err)
		}
		var rows []Row
		for range c.decoding {
			s, err := m.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, Row{Session: s, Logits: true})
		}
		prompt, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		for range c.prompt {
			rows = append(rows, Row{Session: prompt})
		}
		var got []int
		if err := m.pieces(rows, func(_ int, piece []Row) error {
			got = append(got, len(piece))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("batches of %d rows: %d sessions and %d rows of a prompt run in %d; want %s", c.batch, c.decoding, c.prompt, got, c.want)
		}
	}
}

// TestPromptWidths checks that every sequence wider than the bundle's batches is for prompts.
func TestPromptWidths(t *testing.T) {
	for batch, want := range map[int]string{0: "[32 512]", 32: "[512]"} {
		m := &device.Model{Bundle: &plan.Bundle{MaxBatch: batch, Sequences: []plan.Sequence{{Width: 1}, {Width: 16}, {Width: 32}, {Width: 512}}}}
		if got := fmt.Sprint(promptsOf(m, device.Config{Width: 512})); got != want {
			t.Errorf("batches of %d rows: prompts in sequences of %s; want %s", m.Bundle.BatchRows(), got, want)
		}
	}
}
