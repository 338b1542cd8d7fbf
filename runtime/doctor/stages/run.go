package stages

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device/metal"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/patient"
)

// Examination is what the process of a stage has.
type Examination struct {
	*checkup.Writer
	Asked Asked
	// Open opens the device that is examined, with a way to replay commands.
	Open func(metal.Replay) (*patient.Patient, error)
	// Program runs the stages that need a model file, by their names.
	Program map[string]func() error

	// Stage and Patient are those of the stage that runs.
	Stage   *Stage
	Patient *patient.Patient
}

// ErrName is the error of Run for the name of no stage.
var ErrName = errors.New("there is no stage with that name")

// Run runs stages in this process and writes their rows. It stops at the first error.
// The error is nil where a check has failed: the Writer counts these.
func (x *Examination) Run(names []string) error {
	for _, name := range names {
		at := slices.IndexFunc(All, func(s Stage) bool { return s.Name == name })
		if at < 0 {
			return fmt.Errorf("%w: %q", ErrName, name)
		}
		x.Stage = &All[at]
		x.Write(checkup.Now, name, "")
		if err := x.runStage(); err != nil {
			return err
		}
	}
	x.Write(checkup.End, "", "")
	return nil
}

// runStage opens the device for a stage and runs the stage, or says why not.
func (x *Examination) runStage() error {
	asked, icb := x.Asked.Replay, x.Stage.icb
	if icb && asked == metal.ReplayEncode {
		x.Write(checkup.Skip, x.Stage.Name, "-replay encode")
		return nil
	}
	replay := asked
	if asked == metal.ReplayAuto {
		replay = metal.ReplayEncode // auto would start a process
	}
	var err error
	if x.Patient, err = x.Open(replay); err != nil {
		return err
	}
	// Virtual GPUs are known to break indirect command buffers, and the runtime
	// works without them.
	if icb && x.Patient.Virtual() && asked != metal.ReplayICB {
		x.Write(checkup.Skip, x.Stage.Name, "the GPU is virtual; -replay icb tries it")
		return nil
	}
	if !x.Stage.ByProgram() {
		return x.Stage.run(x)
	}
	run, ok := x.Program[x.Stage.Name]
	if !ok {
		return fmt.Errorf("the program does not run the stage %q", x.Stage.Name)
	}
	return run()
}

// Replay is how the stage that runs replays commands.
func (x *Examination) Replay() metal.Replay {
	switch {
	case x.Stage.icb:
		return metal.ReplayICB
	case x.Asked.Replay == metal.ReplayAuto:
		return metal.ReplayEncode
	}
	return x.Asked.Replay
}

// selfTest makes a stage of something small that the GPU has to get right.
func selfTest(test func(*metal.Device) error) func(*Examination) error {
	return func(x *Examination) error {
		switch err := test(x.Patient.Metal); {
		case errors.Is(err, errors.ErrUnsupported):
			x.Write(checkup.Skip, x.Stage.Name, "%v", err)
		case err != nil:
			x.Write(checkup.Fail, x.Stage.Name, "%v", err)
		default:
			x.Write(checkup.Pass, x.Stage.Name, "")
		}
		return nil
	}
}

var errNoSets = unsupported{errors.New("it needs macOS 15")}

// unsupported is an error that says what a system does not have.
type unsupported struct{ error }

func (unsupported) Is(target error) bool { return target == errors.ErrUnsupported }

// residency makes a stage of a test of residency sets.
func residency(test func(*metal.Device) error) func(*Examination) error {
	return selfTest(func(d *metal.Device) error {
		if !d.ResidencySets {
			return errNoSets
		}
		return test(d)
	})
}

// UsedDevice is the name of the row that says which kind of device -device auto is.
const UsedDevice = "device"

// describe says what the device is.
func (x *Examination) describe() error {
	x.Write(checkup.Use, UsedDevice, "%s", x.Patient.Kind)
	for _, fact := range x.Patient.Facts {
		x.Write(checkup.Fact, fact.Name, "%s", fact.Value)
	}
	x.Write(checkup.Pass, x.Stage.Name, "the device opens")
	return nil
}
