package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mla/gen"
	"mla/gen/spec"
	"mla/gen/tune"
	"mla/runtime/plan"
	"mla/runtime/system/atomicfile"
)

// tuneFlags are the flags of mlagen tune.
type tuneFlags struct {
	spec, model, device, by  string
	cudaLib, metalLib, cache string
	quants, acts, kernels    []string
	tunings                  []string
	depths                   []int
	budget                   time.Duration
	beam, rounds             int
	dryRun, compileOnly      bool
}

func newTune() *cobra.Command {
	t := &tuneFlags{}
	var quants, acts, kernels, depths string
	c := command("tune -spec F -device cuda|metal", "find the quickest kernel shapes on a GPU and write them into a tuning file", func(out, _ io.Writer) error {
		t.quants, t.acts, t.kernels = words(quants), words(acts), words(kernels)
		for _, word := range words(depths) {
			n, err := strconv.Atoi(word)
			if err != nil || n < 0 {
				return fmt.Errorf("%w: -depth: %q is no number from 0", errUsage, word)
			}
			t.depths = append(t.depths, n)
		}
		if err := t.check(); err != nil {
			return err
		}
		return t.run(out)
	}, "spec")
	c.Long = `Measures shapes for every kernel of a spec on a GPU and writes the best into the
tuning file of the GPU's class beside the spec: tuning/NAME.nvidia.yaml or tuning/NAME.apple.yaml.

On a machine with a GPU but without clang-19: run it with -compile-only and -cache DIR where
clang is, carry DIR over, and run it there with the same -quant, -act, -kernels, -depth and
-rounds, and without -compile-only. The CPU device does not depend on shapes: it has nothing
to tune.`
	f := c.Flags()
	f.StringVar(&t.spec, "spec", "", "`file` with the spec to tune")
	f.StringSliceVar(&t.tunings, "tuning", nil, "tuning `files` in place of those in the folder tuning beside the spec, NAME.yaml or NAME.CLASS.yaml")
	f.StringVar(&t.device, "device", "", "`GPU` to measure on: cuda or metal")
	f.StringVar(&quants, "quant", "", "`types` of a model with random weights to measure with (default q4_0)")
	f.StringVar(&t.model, "model", "", "a GGUF `file` to measure with instead; it must fit a quant profile of the spec")
	f.StringVar(&acts, "act", "", "`types` of activations (default: the spec's)")
	f.StringVar(&t.cudaLib, "cuda-lib", "", "`library` that stands in for NVIDIA's driver")
	f.StringVar(&t.metalLib, "metal-lib", "", "`library` that stands in for Metal")
	f.StringVar(&kernels, "kernels", "", "`names` of kernels to tune (default: all, and \"attention\" if a depth is not 0)")
	f.StringVar(&depths, "depth", "0", "`tokens` in the context before the one that is measured; several with commas")
	f.StringVar(&t.by, "by", "", "`what` is timed. stage: each kernel by itself, many shapes at once (default on cuda). token: whole tokens, one change at a time (default on metal); that sees what kernels do to each other, but says nothing of lm_head in prompts")
	f.DurationVar(&t.budget, "budget", time.Minute, "`time` after which no new shapes are tried")
	f.IntVar(&t.beam, "beam", 3, "`number` of a kernel's best shapes whose neighbours are tried")
	f.IntVar(&t.rounds, "rounds", 2, "`steps` away from the spec's shapes that are tried; where the best shape is the last of them, tune again")
	f.BoolVarP(&t.dryRun, "dry-run", "n", false, "only print")
	f.StringVar(&t.cache, "cache", "", "`folder` that keeps compiled kernels (cuda)")
	f.BoolVar(&t.compileOnly, "compile-only", false, "compile every shape that can be asked for into -cache, measure nothing")
	return c
}

// words splits a list at its commas.
func words(list string) []string {
	var parts []string
	for _, word := range strings.Split(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			parts = append(parts, word)
		}
	}
	return parts
}

// check refuses combinations of flags that make no sense.
func (t *tuneFlags) check() error {
	switch {
	case t.compileOnly && t.cache == "":
		return fmt.Errorf("%w: -compile-only needs -cache DIR", errUsage)
	case t.compileOnly && t.device == "":
		t.device = "cuda"
	case t.device == "cpu":
		return fmt.Errorf("%w: -device cpu: the loops of the CPU device do not depend on shapes, so there is nothing to tune; expected cuda or metal", errUsage)
	}
	kind, known := tuneDevices[t.device]
	switch {
	case !known:
		return fmt.Errorf("%w: -device is %q; expected cuda or metal", errUsage, t.device)
	case t.compileOnly && t.device != "cuda":
		return fmt.Errorf("%w: -compile-only goes with -device cuda: Metal compiles kernels where they run", errUsage)
	case t.by != "" && t.by != byStage && t.by != byToken:
		return fmt.Errorf("%w: -by is %q; expected %s or %s", errUsage, t.by, byStage, byToken)
	case t.by == byStage && t.device == "metal":
		return fmt.Errorf("%w: -by stage: the Metal device cannot time single kernels", errUsage)
	case t.model != "" && t.quants != nil:
		return fmt.Errorf("%w: give either -model or -quant", errUsage)
	case slices.ContainsFunc(t.acts, func(act string) bool { return !slices.Contains(spec.Activations, act) }):
		return fmt.Errorf("%w: -act: expected %s", errUsage, strings.Join(spec.Activations, " or "))
	case len(t.depths) == 0 || t.beam < 1 || t.rounds < 1 || t.budget < 0:
		return fmt.Errorf("%w: -depth needs a number, -beam and -rounds one from 1, -budget a duration from 0s", errUsage)
	}
	if t.quants == nil && t.model == "" {
		t.quants = []string{"q4_0"}
	}
	if t.by == "" {
		t.by = kind.by
	}
	return nil
}

// tuneDevices are the values of -device: the device class whose tuning file is written, and the default of
// -by.
var tuneDevices = map[string]struct{ class, by string }{
	"cuda":  {plan.ClassNVIDIA, byStage},
	"metal": {plan.ClassApple, byToken},
}

// class returns the class of the device.
func (t *tuneFlags) class() string { return tuneDevices[t.device].class }

// The values of -by.
const (
	byStage = "stage"
	byToken = "token"
)

// run measures the knobs of a spec and writes the tuning file.
func (t *tuneFlags) run(stdout io.Writer) (err error) {
	s, err := spec.Load(t.spec, t.tunings...)
	if err != nil {
		return err
	}
	s = s.WithClass(t.class())
	rigs, err := t.rigs(s)
	if err != nil {
		return err
	}
	knobs, err := t.knobs(rigs[0].spec)
	if err != nil {
		return err
	}
	if t.compileOnly {
		return t.compileAll(rigs, knobs, stdout)
	}
	dir, err := os.MkdirTemp("", "tune")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, stop := interruptible()
	defer stop()
	m, err := t.bench(ctx, rigs, knobs, dir)
	if err != nil {
		return err
	}
	start := time.Now()
	found, err := tune.Search(m.knobs, m, tune.Options{Beam: t.beam, Least: m.least, Repeats: repeats,
		Stop: func() bool { return ctx.Err() != nil || time.Since(start) > t.budget },
		Log:  func(format string, args ...any) { fmt.Fprintf(stdout, format+"\n", args...) }})
	if err = errors.Join(err, m.Close(), ctx.Err()); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n%d measurements in %.0f s on %s\n", m.measured, time.Since(start).Seconds(), m.device.Name())
	if err := printChoices(stdout, found); err != nil {
		return err
	}
	return t.write(s, found, m.device.Name(), stdout)
}

// repeats is how often both sides of a comparison are measured.
const repeats = 4

// knobs returns the knobs that the flags ask for. The knob of split attention is left out if every depth is 0
// and -kernels does not name it: at depth 0 the cache has one row, and there is nothing to split.
func (t *tuneFlags) knobs(s *spec.Spec) ([]tune.Knob, error) {
	knobs, err := tune.Knobs(s, t.kernels)
	if err != nil {
		return nil, err
	}
	deep := t.kernels != nil
	for _, d := range t.depths {
		deep = deep || d > 0
	}
	if last := len(knobs) - 1; !deep && knobs[last].Name == tune.Attention {
		knobs = knobs[:last]
	}
	return tune.Within(knobs, t.rounds), nil
}

// printChoices prints the result as a table.
func printChoices(w io.Writer, found []tune.Choice) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "kernel\tnow\tbest\tµs now\tµs best\ttried")
	for _, c := range found {
		if c.To == c.From {
			fmt.Fprintf(table, "%s\t%s\t\t\t\t%d\n", c.Knob.Name, c.From, c.Tried)
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.2f\t%.2f\t%d\n", c.Knob.Name, c.From, c.To, 1e6*c.Before, 1e6*c.After, c.Tried)
	}
	return table.Flush()
}

// tuning returns the path of the tuning file: the file given by -tuning, or the file of the class beside the
// spec.
func (t *tuneFlags) tuning() string {
	own := spec.TuningFile(t.spec, t.class())
	for _, file := range t.tunings {
		if spec.TuningClass(t.spec, file) == t.class() {
			own = file
		}
	}
	return own
}

// write writes the choices found to the tuning file. Without choices no file is written.
func (t *tuneFlags) write(s *spec.Spec, found []tune.Choice, device string, stdout io.Writer) error {
	var changes []spec.Change
	for _, c := range found {
		if c.To == c.From {
			continue
		}
		changes = append(changes, c.Change(spec.Found{Device: device, Date: time.Now().UTC().Format(time.DateOnly), Gain: math.Round(1000*c.Gain()) / 10}))
	}
	if len(changes) == 0 {
		fmt.Fprintf(stdout, "\nnothing better was found; the tuning of %s stays as it is\n", t.spec)
		return nil
	}
	path := t.tuning()
	tuned, with, err := spec.Retune(s, path, changes)
	if err != nil {
		return err
	}
	for _, v := range with.Variants() { // the tuned spec must compile with all quant profiles
		if _, err := gen.Compile(v, nil); err != nil {
			return err
		}
	}
	if t.dryRun {
		fmt.Fprintf(stdout, "\n%s would be:\n\n%s", path, tuned)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(path, tuned); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n%s has the tuning of %s; next: go run ./cmd/mlagen -spec %s && go run ./cmd/mlagen ptx -spec %s\n", path, t.spec, filepath.ToSlash(t.spec), filepath.ToSlash(t.spec))
	return nil
}
