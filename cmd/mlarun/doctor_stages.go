package main

import (
	"errors"
	"slices"
	"time"

	"mla/runtime/device/metal"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/patient"
	"mla/runtime/doctor/probe"
	"mla/runtime/doctor/trial"
)

// stage is a step of the doctor's examination.
type stage struct {
	name string
	on   []string // the devices that have it; nil: all
	icb  bool     // it makes indirect command buffers; else dispatches are encoded directly
	// trust says that -replay auto needs it to succeed before it takes indirect
	// command buffers.
	trust bool
	when  func(f *doctorFlags) bool // nil: always but for -stress and -schedule
	limit func(f *doctorFlags) time.Duration
	run   func(x *examination) error
}

var (
	onMetal = []string{"metal"}
	onGPUs  = []string{"cuda", "metal"}
)

// stages are run in this order. Every stage but the first runs whatever became of
// those before it, unless the first says that there is no device.
var stages []stage

func init() { // they run the doctor, which runs them
	stages = []stage{
		{name: "system", when: always, limit: within(time.Minute), run: (*examination).describe},
		{name: "compile", on: onGPUs, limit: within(5 * time.Minute), run: (*examination).compile},
		{name: "pipeline limits", on: onMetal, limit: within(time.Minute), run: (*examination).pipelineLimits},
		{name: "direct encoding", on: onMetal, limit: within(time.Minute), run: selfTest(func(d *metal.Device) error { return d.SelfTest(metal.ReplayEncode) })},
		{name: "indirect command buffer", on: onMetal, icb: true, trust: true, limit: within(time.Minute), run: selfTest(func(d *metal.Device) error { return d.SelfTest(metal.ReplayICB) })},
		{name: "residency set: buffers", on: onMetal, limit: within(time.Minute), run: residency((*metal.Device).ResidencyBuffers)},
		{name: "residency set: indirect command buffer", on: onMetal, icb: true, trust: true, limit: within(time.Minute), run: residency((*metal.Device).ResidencyIndirect)},
		{name: "residency set: pipelines", on: onMetal, icb: true, trust: true, limit: within(time.Minute), run: residency((*metal.Device).ResidencyPipelines)},
		{name: "dependent dispatches", on: onMetal, limit: within(time.Minute), run: func(x *examination) error { return probe.Dispatches(x.Writer, x.patient.Metal, metal.ReplayEncode) }},
		{name: "dependent dispatches: indirect command buffer", on: onMetal, icb: true, limit: within(time.Minute), run: func(x *examination) error { return probe.Dispatches(x.Writer, x.patient.Metal, metal.ReplayICB) }},
		{name: "read bandwidth", on: onMetal, when: measures, limit: within(time.Minute), run: func(x *examination) error { return probe.Bandwidth(x.Writer, x.patient.Metal) }},
		{name: "two windows", on: onMetal, limit: within(2 * time.Minute), run: func(x *examination) error { return probe.Windows(x.Writer, x.patient.Metal) }},
		{name: "kernels", limit: kernelLimit, run: (*examination).kernels},
		{name: "tokens", on: []string{"cpu", "cuda"}, when: generates, limit: within(10 * time.Minute), run: (*examination).tokens},
		{name: "tokens by direct encoding", on: onMetal, when: generates, limit: within(10 * time.Minute), run: (*examination).tokens},
		{name: "tokens by indirect command buffer", on: onMetal, icb: true, when: generates, limit: within(10 * time.Minute), run: (*examination).tokens},
		{name: "prompts", on: onGPUs, when: measures, limit: within(10 * time.Minute), run: (*examination).prompts},
		{name: "speed of a large model", on: onMetal, when: measures, limit: within(3 * time.Minute), run: (*examination).shapes},
		{name: trial.Stage, on: onMetal, when: trials, limit: within(trial.Limit), run: (*examination).trial},
		{name: "long command buffers", on: onMetal, when: measures, limit: within(2 * time.Minute), run: func(x *examination) error { return probe.LongBuffers(x.Writer, x.patient.Metal) }},
		{name: "stress", when: stresses, limit: within(7 * 24 * time.Hour), run: (*examination).stress},
		{name: "schedule", when: schedules, limit: within(7 * 24 * time.Hour), run: (*examination).schedule},
	}
}

// wanted tells whether a stage is for a command line, and a kind of device; "auto":
// it is not known which.
func (s *stage) wanted(f *doctorFlags, kind string) bool {
	if s.on != nil && kind != "auto" && !slices.Contains(s.on, kind) {
		return false
	}
	if s.when == nil {
		return !repeats(f)
	}
	return s.when(f)
}

func always(*doctorFlags) bool      { return true }
func stresses(f *doctorFlags) bool  { return f.replays > 0 }
func schedules(f *doctorFlags) bool { return f.steps > 0 }
func repeats(f *doctorFlags) bool   { return stresses(f) || schedules(f) }
func generates(f *doctorFlags) bool { return f.tokens > 0 && !repeats(f) }

func within(limit time.Duration) func(*doctorFlags) time.Duration {
	return func(*doctorFlags) time.Duration { return limit }
}

// kernelLimit leaves time for what the system's compiler does between two checks.
func kernelLimit(f *doctorFlags) time.Duration {
	if f.hasDeadline() {
		return f.kernels + 5*time.Minute
	}
	return 2 * time.Hour
}

// hasDeadline tells whether kernels are checked for a limited time only.
func (f *doctorFlags) hasDeadline() bool { return f.model == "" || f.given("t") }

// examination is what the process of a stage has.
type examination struct {
	*checkup.Writer
	flags   *doctorFlags
	stage   *stage
	patient *patient.Patient
	counted time.Time // see count
}

// runStages runs stages in this process, and writes rows.
func (f *doctorFlags) runStages(names []string) error {
	if err := f.local(); err != nil {
		return err
	}
	w := checkup.NewWriter(f.env.out)
	asked := f.replay
	for _, name := range names {
		at := slices.IndexFunc(stages, func(s stage) bool { return s.name == name })
		if at < 0 {
			return f.wrong("-stage: there is none with the name %q", name)
		}
		x := &examination{Writer: w, flags: f, stage: &stages[at]}
		w.Write(checkup.Now, name, "")
		if f.replay = asked; asked == string(metal.ReplayAuto) {
			f.replay = string(metal.ReplayEncode) // auto would start a process
		}
		if x.stage.icb && asked == string(metal.ReplayEncode) {
			w.Write(checkup.Skip, name, "-replay encode")
			continue
		}
		var err error
		if x.patient, err = patients[f.device](f); err != nil {
			return err
		}
		// Virtual GPUs are known to break indirect command buffers, and the runtime
		// does without there.
		if x.stage.icb && x.patient.Virtual() && asked != string(metal.ReplayICB) {
			w.Write(checkup.Skip, name, "the GPU is virtual; -replay icb tries it")
			continue
		}
		if x.stage.icb {
			f.replay = string(metal.ReplayICB)
		}
		if err := x.stage.run(x); err != nil {
			return err
		}
	}
	w.Write(checkup.End, "", "")
	if w.Failed() > 0 {
		return errSick
	}
	return w.Err()
}

// selfTest makes a stage of something small that the GPU has to get right.
func selfTest(test func(*metal.Device) error) func(*examination) error {
	return func(x *examination) error {
		switch err := test(x.patient.Metal); {
		case errors.Is(err, errors.ErrUnsupported):
			x.Write(checkup.Skip, x.stage.name, "%v", err)
		case err != nil:
			x.Write(checkup.Fail, x.stage.name, "%v", err)
		default:
			x.Write(checkup.Pass, x.stage.name, "")
		}
		return nil
	}
}

var errNoSets = unsupported{errors.New("it needs macOS 15")}

// unsupported is an error that says what a system does not have.
type unsupported struct{ error }

func (unsupported) Is(target error) bool { return target == errors.ErrUnsupported }

// residency makes a stage of a test of residency sets.
func residency(test func(*metal.Device) error) func(*examination) error {
	return selfTest(func(d *metal.Device) error {
		if !d.ResidencySets {
			return errNoSets
		}
		return test(d)
	})
}

// usedDevice is the name of the row that says which kind of device -device auto is.
const usedDevice = "device"

// describe says what the device is.
func (x *examination) describe() error {
	x.Write(checkup.Use, usedDevice, "%s", x.patient.Kind)
	for _, fact := range x.patient.Facts {
		x.Write(checkup.Fact, fact.Name, "%s", fact.Value)
	}
	x.Write(checkup.Pass, x.stage.name, "the device opens")
	return nil
}
