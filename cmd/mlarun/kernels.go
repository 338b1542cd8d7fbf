package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"mla/runtime/device"
)

// leastProfile is how long one measurement of a kind of stage lasts at least: long
// against the resolution of a GPU's clock, 0.5 µs.
const leastProfile = 5 * time.Millisecond

// stageSpeed is what was measured of one kind of stage: the dispatches between two
// barriers of a token.
type stageSpeed struct {
	Act       string  `json:"act"`       // activations: f32 or f16
	Depth     int     `json:"depth"`     // tokens in the context before
	Functions string  `json:"functions"` // that run side by side
	Count     int     `json:"count"`     // in a token
	Micros    float64 `json:"us"`        // of one, with the gap to the next
	Bytes     int64   `json:"bytes"`     // that one reads and writes
	GBs       float64 `json:"gb_s"`
	Fraction  float64 `json:"fraction"` // of the bandwidth of a copy
}

// benchKernels measures every kind of stage at every depth and prints them, those
// that make least of the memory first.
func (l *loaded) benchKernels(e *env, depths []int, format string) error {
	p, ok, err := l.model.Profiler()
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("-kernels: the %s device cannot measure single kernels", l.engine.Device().Name())
	}
	rate, err := p.CopyBandwidth()
	if err != nil {
		return err
	}
	bar := l.flags.progress("kernels")
	defer bar.clear()
	var all []stageSpeed
	for _, depth := range depths {
		stages, err := p.Profile(&device.Profiling{Rows: depth + 1, Least: leastProfile, Progress: bar.count})
		if err != nil {
			return err
		}
		list := make([]stageSpeed, len(stages))
		for i, s := range stages {
			list[i] = stageSpeed{l.engine.Bundle().Act(), depth, strings.Join(s.Functions, " + "), s.Count, s.Time.Seconds() * 1e6, s.Bytes, s.Bandwidth() / 1e9, s.Bandwidth() / rate}
		}
		slices.SortFunc(list, func(a, b stageSpeed) int { return int(min(max(1e9*(a.Fraction-b.Fraction), -1), 1)) })
		all = append(all, list...)
	}
	bar.clear()
	return kernelFormats[format](e.out, fmt.Sprintf("%s; a copy moves %.0f GB/s", l.setup(), rate/1e9), all)
}

// kernelFormats are the values of bench's -o for -kernels.
var kernelFormats = map[string]func(w io.Writer, setup string, list []stageSpeed) error{
	"md": writeKernelsMarkdown, "json": writeKernelsJSON, "csv": writeKernelsCSV,
}

// writeKernelsMarkdown has a table for every depth, with sums over a token below.
func writeKernelsMarkdown(w io.Writer, setup string, list []stageSpeed) error {
	text := setup + "\n"
	for len(list) > 0 {
		depth := list[0].Depth
		text += fmt.Sprintf("\ndepth %d\n\n| kernels | per token | µs | MB | GB/s | of a copy |\n|---|---:|---:|---:|---:|---:|\n", depth)
		count, micros, bytes := 0, 0.0, int64(0)
		for len(list) > 0 && list[0].Depth == depth {
			s := list[0]
			text += fmt.Sprintf("| %s | %d | %.2f | %.3f | %.0f | %.1f %% |\n", s.Functions, s.Count, s.Micros, float64(s.Bytes)/1e6, s.GBs, 100*s.Fraction)
			count, micros, bytes = count+s.Count, micros+float64(s.Count)*s.Micros, bytes+int64(s.Count)*s.Bytes
			list = list[1:]
		}
		text += fmt.Sprintf("| a token | %d | %.2f | %.3f | %.0f | |\n", count, micros, float64(bytes)/1e6, float64(bytes)/micros/1e3)
	}
	_, err := io.WriteString(w, text)
	return err
}

func writeKernelsJSON(w io.Writer, _ string, list []stageSpeed) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(list)
}

func writeKernelsCSV(w io.Writer, _ string, list []stageSpeed) error {
	rows := [][]string{{"act", "depth", "functions", "count", "us", "bytes", "gb_s", "fraction"}}
	for _, s := range list {
		rows = append(rows, []string{s.Act, strconv.Itoa(s.Depth), s.Functions, strconv.Itoa(s.Count), fmt.Sprintf("%.4f", s.Micros),
			strconv.FormatInt(s.Bytes, 10), fmt.Sprintf("%.2f", s.GBs), fmt.Sprintf("%.4f", s.Fraction)})
	}
	return csv.NewWriter(w).WriteAll(rows)
}
