package metal_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

func init() { cases["spared"] = spared }

// sparedConfig has all sequences of the tiny model: of 1, 4 and 16 rows.
var sparedConfig = device.Config{Context: 64, KV: quant.F32, Width: 16}

// spared runs a prompt in as many rows at a time as there are kernels for, compares the logits with the
// reference, and prints the runner's description and the notes to the user.
func spared(lib string) error {
	ref, err := reference.Read(tiny)
	if err != nil {
		return err
	}
	var notes []string
	options := metal.Options{Replay: metal.ReplayICB, Note: func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }}
	m, done, err := reference.Bind(tiny, generated.Bundles(), "f32")
	if err != nil {
		return err
	}
	defer done()
	options.Library = lib
	d, err := metal.Open(options)
	if err != nil {
		return err
	}
	for range 2 { // a server loads again
		r, err := device.LoadSingle(d, m, sparedConfig)
		if err != nil {
			return err
		}
		width := r.Width()
		for at := 0; at < len(ref.Prompt); at += width {
			var rows []plan.Row
			for pos := at; pos < min(at+width, len(ref.Prompt)); pos++ {
				rows = append(rows, reference.Step(ref.Prompt[pos], pos))
			}
			got, err := r.Replay(rows, []int{len(rows) - 1})
			if err != nil {
				return err
			}
			if worst := ref.Worst(got, at+len(rows)-1); !(worst <= 1e-3) { // as of one row: another order of float32 sums
				return fmt.Errorf("position %d: logits differ by %g", at+len(rows)-1, worst)
			}
		}
		_, sampler := r.(device.Picker).Pick(reference.Rows(ref.Prompt[0], 0), []device.Pick{{}})
		fmt.Printf("width %d, direct %v, sampler %v\n", width, metal.Direct(r), !errors.Is(sampler, device.ErrSampling))
		if err := r.Close(); err != nil {
			return err
		}
	}
	fmt.Printf("%d notes: %s", len(notes), strings.Join(notes, ""))
	return nil
}

// sparedRun runs the case in a simulator with an environment variable. It checks the output of the first and
// the second load, and that one note contains a text; "" means no note.
func sparedRun(t *testing.T, variable, want, second, note string) {
	t.Helper()
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), caseVariable+"=spared|"+library(t), "METALSIM_KERNELS=fast", "METALSIM_STRICT=1", variable)
	out, err := cmd.CombinedOutput()
	notes := 0
	if note != "" {
		notes = 1
	}
	if got := string(head(out)); err != nil || !strings.HasPrefix(got, want+"\n"+second+"\n"+fmt.Sprintf("%d notes: ", notes)) || !strings.Contains(got, note) {
		t.Errorf("%v: %s\nexpected %s, then %s, and %d notes with %q", err, got, want, second, notes, note)
	}
}

// TestSpared checks that a kernel which a GPU cannot run refuses the model only if it is a kernel of one row.
// Sequences of more rows are left out, the widest first, and commands that cannot be recorded are encoded.
// The user is told once.
func TestSpared(t *testing.T) {
	library(t)
	m, done, err := reference.Bind(tiny, generated.Bundles(), "f32")
	if err != nil {
		t.Fatal(err)
	}
	byWidth, err := metal.Functions(m, sparedConfig)
	if err != nil || done() != nil || len(byWidth) != 4 {
		t.Fatalf("%v, %v", byWidth, err)
	}
	narrower := map[int]int{16: 4, 4: 1}
	for width, functions := range byWidth {
		if !deep.On {
			functions = functions[:1]
		}
		for _, f := range functions {
			said := fmt.Sprintf("so the GPU runs at most %d rows at a time, not 16; prompts take longer", narrower[width])
			want := fmt.Sprintf("width %d, direct false, sampler true", narrower[width])
			switch width {
			case 0:
				want, said = "width 16, direct false, sampler false", ""
			case 1:
				continue
			}
			variables := []string{"METALSIM_REFUSE=pipeline:" + f}
			if deep.On || width == 16 {
				variables = append(variables, "METALSIM_MAX_THREADS_OF="+f+":16", "METALSIM_REFUSE=library:"+f)
			}
			for _, variable := range variables {
				t.Run(variable, func(t *testing.T) { sparedRun(t, variable, want, want, said) })
			}
		}
	}
	direct := "width 16, direct true, sampler true"
	for i, f := range []string{byWidth[16][0], byWidth[1][0]} {
		if i > 0 && !deep.On {
			break
		}
		t.Run("indirect:"+f, func(t *testing.T) {
			sparedRun(t, "METALSIM_REFUSE=indirect:"+f, direct, direct, "kernel "+f+": make a pipeline: Compute function cannot be used with indirect command buffers")
		})
	}
	all := 0
	for _, list := range byWidth {
		all += len(list)
	}
	for n := 1; n <= all; n++ { // a pipeline that fails once is made without ICBs
		if deep.On || n == all/2 {
			t.Run(fmt.Sprint("pipeline ", n), func(t *testing.T) {
				sparedRun(t, fmt.Sprintf("METALSIM_FAULT=pipeline:%d", n), direct, "width 16, direct false, sampler true", "so that kernels are not recorded")
			})
		}
	}
}
