package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"

	"mla/runtime/bind"
	"mla/runtime/device"
	"mla/runtime/device/check"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// patient is what the doctor examines: a device.
type patient struct {
	class string // of the device, see plan.Classes
	facts []fact
	tests []selfTest
	// launcher makes functions of a bundle ready; done releases them.
	launcher func(b *plan.Bundle, functions []string) (l check.Launcher, done func(), err error)
	// runs says why a bundle's kernels cannot be made ready on this system; nil: it has all.
	runs func(b *plan.Bundle) error
	// sampler says that the device picks tokens by itself.
	sampler bool
}

// samplerTokens is how many tokens it has to pick as the CPU does: enough for every
// path of the sampler with every kind of logits.
const samplerTokens = 200

// fact is a line of the report.
type fact struct{ name, value string }

// selfTest is something small that the device has to get right. Without run it
// was not made, for the reason why.
type selfTest struct {
	name string
	run  func() error
	why  string
}

// patients open the devices that can be examined.
var patients = map[string]func(f *flags) (*patient, error){"auto": defaultPatient, "cpu": cpuPatient, "cuda": cudaPatient, "metal": metalPatient}

// errSick is the doctor's verdict where something is wrong; the report says what.
var errSick = errors.New("the device does not work as it should; the report above says where")

// leastReplays is how many replays make a comparison: the first two are compared with.
const leastReplays = 3

// doctor describes a device and compares its kernels with their Go twins, or many
// replays of a token with each other.
func doctor(e *env, args []string) (err error) {
	f := newFlags(e, "mlarun doctor", "[-device cpu|cuda|metal] [-model F] [-t 60s | -stress N] [flags]").running()
	replays := f.Int("stress", 0, "instead of checking kernels, replay a token of the model this `many` times and compare the bits of what it computes")
	limit := f.Duration("t", time.Minute, "stop checking kernels after this `time`; with -model there is no limit unless it is given")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return f.wrong("unexpected argument %q", rest[0])
	}
	if f.given("stress") && (*replays < leastReplays || f.model == "") {
		return f.wrong("-stress needs a -model, and %d replays or more", leastReplays)
	}
	cfg, err := f.config(1)
	if err != nil {
		return err
	}
	open, ok := patients[f.device]
	if !ok {
		return f.wrong("-device: there is no doctor for %q", f.device)
	}
	p, err := open(f)
	if err != nil {
		return err
	}
	x := &examination{out: e.out, patient: p}
	x.describe()
	x.selfTests()
	if f.model == "" || f.given("t") {
		x.deadline = time.Now().Add(*limit)
	}
	switch {
	case *replays > 0:
		err = x.stress(f, *replays)
	case f.model != "":
		err = x.file(f, cfg)
	default:
		bundles := slices.DeleteFunc(plan.For(p.class, e.bundles), func(b *plan.Bundle) bool { return f.act != "" && f.act != b.Act() })
		slices.SortStableFunc(bundles, func(a, b *plan.Bundle) int { return a.Model.HiddenSize - b.Model.HiddenSize })
		x.kernels(x.able(bundles), func(*plan.Variant) bool { return true })
	}
	if err != nil {
		return err
	}
	return x.verdict()
}

// examination is one run of the doctor.
type examination struct {
	out      io.Writer
	patient  *patient
	deadline time.Time // of the kernel check; zero: none
	sick     int       // checks that failed
}

func (x *examination) describe() {
	fmt.Fprintln(x.out, "mlarun doctor")
	t := tabwriter.NewWriter(x.out, 0, 0, 2, ' ', 0)
	for _, fact := range append([]fact{{"program", buildInfo()}, {"platform", runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version()}}, x.patient.facts...) {
		fmt.Fprintf(t, "  %s\t%s\n", fact.name, fact.value)
	}
	_ = t.Flush() // what cannot be printed cannot be reported either
}

// buildInfo is the version of the program and the commit it was built from.
func buildInfo() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" && s.Value == "true" {
			text += ", " + s.Key + " " + s.Value
		}
	}
	return text
}

func (x *examination) selfTests() {
	if len(x.patient.tests) == 0 {
		return
	}
	fmt.Fprintln(x.out, "\nself-tests")
	t := tabwriter.NewWriter(x.out, 0, 0, 2, ' ', 0)
	for _, test := range x.patient.tests {
		result := "ok"
		if test.run == nil {
			result = "not made: " + test.why
		} else if err := test.run(); errors.Is(err, errors.ErrUnsupported) {
			result = "not made: " + err.Error()
		} else if err != nil {
			result = "FAILED: " + err.Error()
			x.sick++
		}
		fmt.Fprintf(t, "  %s\t%s\n", test.name, result)
	}
	_ = t.Flush()
}

// file checks the kernels that the model file needs.
func (x *examination) file(f *flags, cfg device.Config) (err error) {
	file, err := gguf.Open(f.model)
	if err != nil {
		return err
	}
	defer closing(file, &err)
	b, err := bind.Choose(file, f.env.bundles, bind.Wish{Bundle: f.bundle, Act: f.act, Class: x.patient.class})
	if err != nil {
		return err
	}
	m, err := bind.Bind(file, b)
	if err != nil {
		return err
	}
	used, err := m.Functions(cfg.KV)
	if err != nil {
		return err
	}
	x.kernels([]*plan.Bundle{b}, func(v *plan.Variant) bool { return slices.Contains(used, v.Func) })
	return nil
}

// able leaves out the bundles that the system cannot run, and says why.
func (x *examination) able(bundles []*plan.Bundle) []*plan.Bundle {
	if x.patient.runs == nil {
		return bundles
	}
	return slices.DeleteFunc(bundles, func(b *plan.Bundle) bool {
		err := x.patient.runs(b)
		if err != nil {
			fmt.Fprintf(x.out, "not checked: %v\n", err)
		}
		return err != nil
	})
}

// kernels checks the variants of bundles that are wanted until time is up.
func (x *examination) kernels(bundles []*plan.Bundle, wanted func(*plan.Variant) bool) {
	start := time.Now()
	var checked, left int
	for _, b := range bundles {
		cases, err := check.Cases(b)
		cases = slices.DeleteFunc(cases, func(c check.Case) bool { return !wanted(c.Variant) })
		if err == nil && x.late() {
			left += len(cases)
			continue
		}
		n, err := x.bundle(b, cases, err)
		checked += n
		if err != nil {
			fmt.Fprintf(x.out, "FAILED: %v\n", err)
			x.sick++
			continue
		}
		left += len(cases) - n
	}
	fmt.Fprintf(x.out, "\n%d launches checked in %.1f s", checked, time.Since(start).Seconds())
	if left > 0 {
		fmt.Fprintf(x.out, ", %d not checked (-t gives more time)", left)
	}
	fmt.Fprintln(x.out)
}

func (x *examination) late() bool { return !x.deadline.IsZero() && time.Now().After(x.deadline) }

// bundle checks cases of one bundle, and returns how many.
func (x *examination) bundle(b *plan.Bundle, cases []check.Case, err error) (int, error) {
	fmt.Fprintf(x.out, "\nkernels of %s (%s, spec %.12s) against their Go twins\n", b.Name, b.Kind(), b.SpecHash)
	if err != nil {
		return 0, err
	}
	l, done, err := x.patient.launcher(b, functions(b, cases))
	if err != nil {
		return 0, err
	}
	defer done()
	if o, ok := l.(interface{ Origin() string }); ok {
		fmt.Fprintln(x.out, o.Origin())
	}
	var results []check.Result
	for i := range cases {
		if x.late() {
			break
		}
		results = append(results, cases[i].Check(l))
	}
	if err := check.Write(x.out, results); err != nil {
		return len(results), err
	}
	for i := range results {
		if problem := results[i].Problem(); problem != "" {
			fmt.Fprintf(x.out, "FAILED: %s\n", problem)
			x.sick++
		}
	}
	if x.patient.sampler && !x.late() {
		err := check.Sampler(l, b, samplerTokens)
		if errors.Is(err, errors.ErrUnsupported) {
			fmt.Fprintf(x.out, "sampler: not able, so the CPU picks tokens: %v\n", err)
			return len(results), nil
		}
		if err != nil {
			return len(results), err
		}
		fmt.Fprintf(x.out, "sampler: %d tokens picked as by the CPU\n", samplerTokens)
	}
	return len(results), nil
}

// functions are those of cases and of the bundle's sampler.
func functions(b *plan.Bundle, cases []check.Case) []string {
	var list []string
	for i := range cases {
		list = append(list, cases[i].Variant.Func)
	}
	for i := range b.Sample {
		for _, v := range b.Kernels[b.Sample[i].Kernel].Variants {
			list = append(list, v.Func)
		}
	}
	return list
}

func (x *examination) verdict() error {
	if x.sick > 0 {
		fmt.Fprintf(x.out, "result: %d FAILED\n", x.sick)
		return errSick
	}
	fmt.Fprintln(x.out, "result: ok")
	return nil
}
