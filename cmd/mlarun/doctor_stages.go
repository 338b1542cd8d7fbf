package main

import (
	"errors"
	"time"

	"mla/runtime/device/metal"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/patient"
	"mla/runtime/doctor/stages"
)

// examination is the state of a stage's process.
type examination struct {
	*stages.Examination
	flags   *doctorFlags
	counted time.Time // time of the last progress row, see count
}

// asked returns the requests of the command line.
func (f *doctorFlags) asked() *stages.Asked {
	return &stages.Asked{
		Replay: metal.Replay(f.replay), Model: f.model != "", Tokens: f.tokens, TokensGiven: f.given("n"), TimeGiven: f.given("t"),
		Time: f.kernels, Replays: f.replays, Steps: f.steps,
	}
}

// runStages runs stages in this process, and writes their rows.
func (f *doctorFlags) runStages(names []string) error {
	if err := f.local(); err != nil {
		return err
	}
	x := &examination{flags: f, Examination: &stages.Examination{Writer: checkup.NewWriter(f.env.out), Asked: *f.asked(), Open: f.patient}}
	x.Program = x.program()
	switch err := x.Run(names); {
	case errors.Is(err, stages.ErrName):
		return f.wrong("-stage: %v", err)
	case err != nil:
		return err
	case x.Failed() > 0:
		return errSick
	}
	return x.Err()
}

// patient opens the device under examination.
func (f *doctorFlags) patient(replay metal.Replay) (*patient.Patient, error) {
	f.replay = string(replay)
	return patients[f.device](f)
}

// program returns the functions of the stages that need a model file.
func (x *examination) program() map[string]func() error {
	list := map[string]func() error{
		stages.Compile: x.compile, stages.PipelineLimits: x.pipelineLimits, stages.Kernels: x.kernels,
		stages.Tokens: x.tokens, stages.TokensEncoded: x.tokens, stages.TokensICB: x.tokens,
		stages.Prompts: x.prompts, stages.LargeModel: x.shapes, stages.Trial: x.trial,
		stages.Stress: x.stress, stages.Schedule: x.schedule,
	}
	for name, run := range list {
		list[name] = func() error {
			x.flags.replay = string(x.Replay())
			return run()
		}
	}
	return list
}
