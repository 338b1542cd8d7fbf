package describe

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// JSON writes the report as indented JSON.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Table writes the report for people.
func (r *Report) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s, quant profile %s, %s activations, f16 cache, depth %d\n\n", r.Bundle, r.Profile, r.Act, r.Depth)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "step\tlayer\tkernel\tgrid\tthreads\tbarrier\tweights B\tread B\twritten B\tflop\t")
	for _, d := range r.Dispatches {
		bar := ""
		if d.Barrier {
			bar = "|"
		}
		fmt.Fprintf(t, "%d\t%d\t%s\t%d\t%d\t%s\t%d\t%d\t%d\t%d\t\n", d.Step, d.Layer, d.Variant, d.Groups, d.Threads, bar,
			d.WeightBytes, d.BytesRead, d.BytesWritten, d.Flops)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nper token: %d dispatches, %d barriers, %d weight bytes, %d cache bytes per context token, %d flop\n\n",
		r.DispatchesPerToken, r.BarriersPerToken, r.WeightBytesPerToken, r.KVBytesPerContextToken, r.FlopsPerToken)
	fmt.Fprintln(w, "prediction (time model, not measured on Apple hardware):")
	fmt.Fprintln(t, "device\tGB/s\tweights µs\tcache µs\tdispatches µs\tcommand buffer µs\ttok/s\tceiling tok/s\t")
	for _, p := range r.Predictions {
		fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", p.Device, p.BandwidthGBs, p.WeightsUs, p.CacheUs, p.DispatchesUs,
			p.CommandBufUs, p.TokPerSecond, p.CeilingTokSec)
	}
	return t.Flush()
}
