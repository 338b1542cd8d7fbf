package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"mla/runtime/device"
)

// leastProfile is the least duration of a measurement of a kind of stage: long compared with the resolution
// of a GPU's clock, 0.5 µs.
const leastProfile = 5 * time.Millisecond

// stageSpeed is the measurement of one kind of stage: the dispatches between two barriers of a token.
type stageSpeed struct {
	Act       string  `json:"act"`       // activations: f32, f16 or q8
	Depth     int     `json:"depth"`     // tokens already in the context
	Width     int     `json:"width"`     // rows of a replay
	Functions string  `json:"functions"` // functions that run side by side
	Count     int     `json:"count"`     // occurrences in a replay
	Micros    float64 `json:"us"`        // time of one, including the gap to the next
	Bytes     int64   `json:"bytes"`     // bytes that one reads and writes
	GBs       float64 `json:"gb_s"`
	Fraction  float64 `json:"fraction"` // fraction of the bandwidth of a copy
	TFlops    float64 `json:"tflop_s"`  // speed of the products
	setup
}

// benchKernels measures every kind of stage at every depth. It prints those first that use the least of the
// memory bandwidth.
func (l *loaded) benchKernels(e *env, depths []int, format string) error {
	p, err := l.model.Profiler()
	if err != nil {
		return err
	}
	if p == nil {
		return fmt.Errorf("-kernels: the %s device cannot measure single kernels", l.engine.Device().Name())
	}
	rate, err := p.CopyBandwidth()
	if err != nil {
		return err
	}
	bar := l.flags.progress("kernels")
	defer bar.clear()
	var all []stageSpeed
	width := max(l.flags.width, 1)
	for _, depth := range depths {
		stages, err := p.Profile(&device.Profiling{Rows: depth + width, Width: width, Least: leastProfile, Progress: bar.count})
		if err != nil {
			return err
		}
		list := make([]stageSpeed, len(stages))
		for i, s := range stages {
			list[i] = stageSpeed{l.flags.actOf(l.engine.Bundle()), depth, width, strings.Join(s.Functions, " + "), s.Count, s.Time.Seconds() * 1e6, s.Bytes, s.Bandwidth() / 1e9, s.Bandwidth() / rate, float64(s.Flops) / s.Time.Seconds() / 1e12, l.setup()}
		}
		slices.SortFunc(list, func(a, b stageSpeed) int { return int(min(max(1e9*(a.Fraction-b.Fraction), -1), 1)) })
		all = append(all, list...)
	}
	bar.clear()
	return kernelFormats[format](e.out, fmt.Sprintf("%s; a copy moves %.0f GB/s", l.describe(), rate/1e9), all)
}

// kernelFormats are the values of bench's -o for -kernels.
var kernelFormats = map[string]func(w io.Writer, setup string, list []stageSpeed) error{
	"md": writeKernelsMarkdown, "json": writeJSON[stageSpeed], "jsonl": writeJSONLines[stageSpeed], "csv": writeCSV[stageSpeed],
}

// writeKernelsMarkdown writes a table for every depth, with sums over a replay below.
func writeKernelsMarkdown(w io.Writer, setup string, list []stageSpeed) error {
	text := setup + "\n"
	for len(list) > 0 {
		depth := list[0].Depth
		text += fmt.Sprintf("\ndepth %d, width %d\n\n| kernels | per step | µs | MB | GB/s | of a copy | TFLOP/s |\n|---|---:|---:|---:|---:|---:|---:|\n", depth, list[0].Width)
		count, micros, bytes := 0, 0.0, int64(0)
		for len(list) > 0 && list[0].Depth == depth {
			s := list[0]
			text += fmt.Sprintf("| %s | %d | %.2f | %.3f | %.0f | %.1f %% | %.1f |\n", s.Functions, s.Count, s.Micros, float64(s.Bytes)/1e6, s.GBs, 100*s.Fraction, s.TFlops)
			count, micros, bytes = count+s.Count, micros+float64(s.Count)*s.Micros, bytes+int64(s.Count)*s.Bytes
			list = list[1:]
		}
		text += fmt.Sprintf("| a step | %d | %.2f | %.3f | %.0f | | |\n", count, micros, float64(bytes)/1e6, float64(bytes)/micros/1e3)
	}
	_, err := io.WriteString(w, text)
	return err
}
