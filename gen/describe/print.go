package describe

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"mla/gen/target"
)

// JSON writes the report as indented JSON.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Table writes the report as tables of text.
func (r *Report) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s, quant profile %s, %s activations, f16 cache, depth %d, width %d\n\n", r.Bundle, r.Profile, r.Act, r.Depth, r.Rows)
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
	if err := r.widths(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nper token: %d dispatches, %d barriers, %d weight bytes, %d cache bytes per context token, %d flop\n\n",
		r.DispatchesPerToken, r.BarriersPerToken, r.WeightBytesPerToken, r.KVBytesPerContextToken, r.FlopsPerToken)
	if r.StateBytesPerSession > 0 {
		fmt.Fprintf(w, "per session: %d bytes of states of linear attention, which each token reads and writes\n\n", r.StateBytesPerSession)
	}
	if err := r.registers(w); err != nil {
		return err
	}
	if err := r.Memory.print(w); err != nil {
		return err
	}
	return r.predictions(w)
}

// widths writes the totals of a replay for each number of rows.
func (r *Report) widths(w io.Writer) error {
	fmt.Fprintf(w, "\nsequences: a replay of a number of rows, up to %d of a batch or more of a prompt, with as many experts as they select on average\n", r.BatchRows)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "rows\tdispatches\tbarriers\tweights B\tfor each row\tread B\twritten B\tflop\tarena B\t")
	for _, v := range r.Widths {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", v.Rows, v.Dispatches, v.Barriers, v.WeightBytes, v.WeightBytes/int64(v.Rows),
			v.BytesRead, v.BytesWritten, v.Flops, v.ArenaBytes)
	}
	return t.Flush()
}

// predictions writes the predictions, and the sources of the shares of the bandwidth.
func (r *Report) predictions(w io.Writer) error {
	fmt.Fprintln(w, "predicted, "+target.Untried+" (time model; ranges as the shares of bandwidth and operations that kernels reach):")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "device\tGB/s\tshare %\tTFLOP/s\tweights µs\tcache µs\toperations µs\tdispatches µs\tcommand buffer µs\ttok/s\tceiling tok/s\tprompt tok/s\t")
	for _, p := range r.Predictions {
		percent := Range{100 * p.Share.Low, 100 * p.Share.High}
		fmt.Fprintf(t, "%s\t%.0f\t%v\t%.1f\t%v\t%v\t%v\t%.0f\t%.0f\t%v\t%.0f\t%v\t\n", p.Device, p.BandwidthGBs, percent, p.TFlops, p.WeightsUs, p.CacheUs, p.FlopsUs,
			p.DispatchesUs, p.CommandBufUs, p.TokPerSecond, p.CeilingTokSec, p.Prompt)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "where the shares are from:")
	for i, p := range r.Predictions {
		if i == 0 || p.Tier != r.Predictions[i-1].Tier {
			fmt.Fprintf(w, "  %s: %s\n", p.Tier, p.ShareSource)
		}
	}
	_, err := fmt.Fprintf(w, "  operations: %.0f-%.0f %%: %s\n", 100*target.Reach.Low, 100*target.Reach.High, target.Reach.From.Found)
	return err
}

// String returns the range in whole numbers.
func (r Range) String() string { return fmt.Sprintf("%.0f-%.0f", r.Low, r.High) }
