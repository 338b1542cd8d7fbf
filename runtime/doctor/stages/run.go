package stages

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device/metal"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/patient"
)

// Examination is the state of the process of a stage.
type Examination struct {
	*checkup.Writer
	Asked Asked
	// Open opens the device under examination, with a way to replay commands.
	Open func(metal.Replay) (*patient.Patient, error)
	// Program holds the functions of the stages that need a model file, by the stages' names.
	Program map[string]func() error

	// Stage and Patient belong to the stage that is running.
	Stage   *Stage
	Patient *patient.Patient
}

// ErrName is Run's error for an unknown name.
var ErrName = errors.New("there is no stage with that name")

// Run runs stages in this process and writes their rows. It stops at the first error. A failed check is not
// an error: the Writer counts it.
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

// runStage opens the device for a stage and runs the stage, or writes why it cannot.
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
	// Indirect command buffers are known to fail on virtual GPUs, and the runtime works without them.
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

// Replay returns how the running stage replays commands.
func (x *Examination) Replay() metal.Replay {
	switch {
	case x.Stage.icb:
		return metal.ReplayICB
	case x.Asked.Replay == metal.ReplayAuto:
		return metal.ReplayEncode
	}
	return x.Asked.Replay
}

// selfTest returns a stage that runs a small test of the GPU.
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

// unsupported is an error for a feature that the system lacks.
type unsupported struct{ error }

func (unsupported) Is(target error) bool { return target == errors.ErrUnsupported }

// residency returns a stage that tests residency sets.
func residency(test func(*metal.Device) error) func(*Examination) error {
	return selfTest(func(d *metal.Device) error {
		if !d.ResidencySets {
			return errNoSets
		}
		return test(d)
	})
}

// UsedDevice is the name of the row that says which kind of device -device auto has chosen.
const UsedDevice = "device"

// describe writes the facts of the device.
func (x *Examination) describe() error {
	x.Write(checkup.Use, UsedDevice, "%s", x.Patient.Kind)
	for _, fact := range x.Patient.Facts {
		x.Write(checkup.Fact, fact.Name, "%s", fact.Value)
	}
	x.Write(checkup.Pass, x.Stage.Name, "the device opens")
	return nil
}
