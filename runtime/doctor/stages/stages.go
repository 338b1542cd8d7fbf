// Package stages lists the stages of the doctor's examination: which devices have a stage, when it is wanted,
// how long it may take, and which function runs it. A stage that needs a model file is run by the program,
// which can open one.
package stages

import (
	"slices"
	"time"

	"mla/runtime/device/metal"
	"mla/runtime/doctor/probe"
	"mla/runtime/doctor/trial"
)

// The names of the stages that the program runs, see Examination.Program.
const (
	Compile        = "compile"
	PipelineLimits = "pipeline limits"
	Kernels        = "kernels"
	Tokens         = "tokens"
	TokensEncoded  = "tokens by direct encoding"
	TokensICB      = "tokens by indirect command buffer"
	Prompts        = "prompts"
	LargeModel     = "speed of a large model"
	Trial          = trial.Stage
	Stress         = "stress"
	Schedule       = "schedule"
)

// Asked holds the requests of a command line to the doctor.
type Asked struct {
	Replay metal.Replay // -replay
	Model  bool         // -model is given
	Tokens int          // -n
	// TokensGiven and TimeGiven say that the command line has -n and -t.
	TokensGiven, TimeGiven bool
	Time                   time.Duration // -t, for the check of kernels
	Replays                int           // -stress; 0: no stress test
	Steps                  int           // -schedule; 0: no random schedule
}

// HasDeadline says whether kernels are checked for a limited time only.
func (a *Asked) HasDeadline() bool { return !a.Model || a.TimeGiven }

// repeats says whether the doctor runs a stress test or a schedule, and nothing else.
func (a *Asked) repeats() bool { return a.Replays > 0 || a.Steps > 0 }

// generates says whether the doctor generates tokens.
func (a *Asked) generates() bool { return a.Tokens > 0 && !a.repeats() }

// thorough is the value of -n from which stages that take longer are wanted as well.
const thorough = 100

// measures says whether the doctor measures prompts, bandwidth and long command buffers.
func (a *Asked) measures() bool { return a.generates() && a.Tokens >= thorough }

// tries says whether the examination includes a trial of the whole model: the model is the user's own, and
// the command line does not say how many tokens to generate.
func (a *Asked) tries() bool { return a.Model && a.generates() && !a.TokensGiven }

// Stage is one step of the doctor's examination.
type Stage struct {
	Name string
	// Trust says whether -replay auto uses indirect command buffers only if the stage has passed.
	Trust bool
	on    []string                   // the devices that have the stage; nil: all
	icb   bool                       // the stage uses indirect command buffers; otherwise dispatches are encoded directly
	when  func(*Asked) bool          // nil: always, except with -stress and -schedule
	limit func(*Asked) time.Duration // how long the stage may take
	run   func(*Examination) error   // nil: the program runs it
}

var (
	onMetal = []string{"metal"}
	onGPUs  = []string{"cuda", "metal"}
)

// All lists the stages in the order in which they run. A failure of a stage does not stop later ones, unless
// the first stage finds no device.
var All = []Stage{
	{Name: "system", when: always, limit: within(time.Minute), run: (*Examination).describe},
	{Name: Compile, on: onGPUs, limit: within(5 * time.Minute)},
	{Name: PipelineLimits, on: onMetal, limit: within(time.Minute)},
	{Name: "direct encoding", on: onMetal, limit: within(time.Minute), run: selfTest(func(d *metal.Device) error { return d.SelfTest(metal.ReplayEncode) })},
	{Name: "indirect command buffer", on: onMetal, icb: true, Trust: true, limit: within(time.Minute), run: selfTest(func(d *metal.Device) error { return d.SelfTest(metal.ReplayICB) })},
	{Name: "residency set: buffers", on: onMetal, limit: within(time.Minute), run: residency((*metal.Device).ResidencyBuffers)},
	{Name: "residency set: indirect command buffer", on: onMetal, icb: true, Trust: true, limit: within(time.Minute), run: residency((*metal.Device).ResidencyIndirect)},
	{Name: "residency set: pipelines", on: onMetal, icb: true, Trust: true, limit: within(time.Minute), run: residency((*metal.Device).ResidencyPipelines)},
	{Name: "dependent dispatches", on: onMetal, limit: within(time.Minute), run: func(x *Examination) error { return probe.Dispatches(x.Writer, x.Patient.Metal, metal.ReplayEncode) }},
	{Name: "dependent dispatches: indirect command buffer", on: onMetal, icb: true, limit: within(time.Minute), run: func(x *Examination) error { return probe.Dispatches(x.Writer, x.Patient.Metal, metal.ReplayICB) }},
	{Name: "read bandwidth", on: onMetal, when: (*Asked).measures, limit: within(time.Minute), run: func(x *Examination) error { return probe.Bandwidth(x.Writer, x.Patient.Metal) }},
	{Name: "two windows", on: onMetal, limit: within(2 * time.Minute), run: func(x *Examination) error { return probe.Windows(x.Writer, x.Patient.Metal) }},
	{Name: Kernels, limit: kernelLimit},
	{Name: Tokens, on: []string{"cpu", "cuda"}, when: (*Asked).generates, limit: within(10 * time.Minute)},
	{Name: TokensEncoded, on: onMetal, when: (*Asked).generates, limit: within(10 * time.Minute)},
	{Name: TokensICB, on: onMetal, icb: true, when: (*Asked).generates, limit: within(10 * time.Minute)},
	{Name: Prompts, on: onGPUs, when: (*Asked).measures, limit: within(10 * time.Minute)},
	{Name: LargeModel, on: onMetal, when: (*Asked).measures, limit: within(3 * time.Minute)},
	{Name: Trial, on: onMetal, when: (*Asked).tries, limit: within(trial.Limit)},
	{Name: "long command buffers", on: onMetal, when: (*Asked).measures, limit: within(2 * time.Minute), run: func(x *Examination) error { return probe.LongBuffers(x.Writer, x.Patient.Metal) }},
	{Name: Stress, when: func(a *Asked) bool { return a.Replays > 0 }, limit: within(7 * 24 * time.Hour)},
	{Name: Schedule, when: func(a *Asked) bool { return a.Steps > 0 }, limit: within(7 * 24 * time.Hour)},
}

// Wanted says whether a stage is wanted for a command line and a kind of device. The kind is "auto" until the
// device is known.
func (s *Stage) Wanted(a *Asked, kind string) bool {
	if s.on != nil && kind != "auto" && !slices.Contains(s.on, kind) {
		return false
	}
	if s.when == nil {
		return !a.repeats()
	}
	return s.when(a)
}

// ByProgram says whether the program runs the stage, see Examination.Program.
func (s *Stage) ByProgram() bool { return s.run == nil }

// Limit returns how long the process of a stage may take.
func (s *Stage) Limit(a *Asked) time.Duration { return s.limit(a) }

func always(*Asked) bool { return true }

func within(limit time.Duration) func(*Asked) time.Duration {
	return func(*Asked) time.Duration { return limit }
}

// kernelLimit adds time for the system's compiler between two checks.
func kernelLimit(a *Asked) time.Duration {
	if a.HasDeadline() {
		return a.Time + 5*time.Minute
	}
	return 2 * time.Hour
}
