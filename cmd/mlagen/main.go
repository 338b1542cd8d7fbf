// Command mlagen compiles the YAML spec of an MLA language model into a bundle:
// a Metal source file and Go tables that mlarun replays.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	exitDrift = 3
	// 128 + SIGINT, as shells report it.
	exitInterrupted = 130
)

const usage = `mlagen compiles the spec of an MLA model into Metal kernels and Go dispatch tables.

  mlagen -spec F                       write the spec's bundles to generated/STEM: STEM for
                                       activations f32, STEMf16 for f16; STEMnvidia and so on
                                       for classes of devices that its tuning names
  mlagen -spec F -out DIR              write one bundle to DIR, a folder without other bundles
  mlagen -all                          every spec in specs/, and the registry
  mlagen init -gguf F -o specs/x.yaml  make a spec from a GGUF file's header (-f: overwrite;
                                       -act f32,f16: with both kinds of activations)
  mlagen describe -spec F [-json]      the plan as a table: kernels, bytes, prediction
  mlagen dump -spec F [-after PASS]    the program after a pass (-passes lists them)
  mlagen synth -spec F -quant Q -o F   a GGUF with random weights of the real shapes
  mlagen ptx -spec F                   compile the bundles in generated/ that NVIDIA GPUs run, if they
                                       changed (-all: of every spec; -f: in any case); needs clang-19.
                                       The next build of mlarun has them
  mlagen tune -spec F -device D        find the quickest kernel shapes on a GPU and write them
                                       into the spec (mlagen tune -h: how)

With -spec or -all:
  -check     compare with the files on disk; exit 3 and the fixing command on drift
  -diff      print what would change
  -n         name the files that would be written, write nothing
  -disable   comma-separated fusions to leave out

With -out, describe or dump:
  -act       f32 or f16: activations of the one bundle (default: the first in the spec)
  -class     apple or nvidia: devices that its shapes are for (default: any)

Exit codes: 0 done, 1 error, 2 usage, 3 generated files are out of date, 130 interrupted.
`

// errUsage marks errors that are about the command line.
var errUsage = errors.New("usage")

// commands are the sub-commands; without one, mlagen generates.
var commands = []struct {
	name string
	run  func(args []string, stdout io.Writer) error
}{
	{"init", runInit},
	{"describe", runDescribe},
	{"dump", runDump},
	{"synth", runSynth},
	{"ptx", runPTX},
	{"tune", runTune},
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its world as arguments; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	err := dispatch(args, stdout)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errDrift):
		fmt.Fprintln(stderr, err)
		return exitDrift
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "mlagen: %v\nmlagen -h lists commands and flags\n", err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "%v\n", err)
	return exitError
}

// interruptible gives a context that Ctrl-C cancels, until stop is called, so that
// unfinished files are removed.
func interruptible() (ctx context.Context, stop func()) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}

func dispatch(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: nothing to do", errUsage)
	}
	for _, c := range commands {
		if args[0] == c.name {
			return c.run(args[1:], stdout)
		}
	}
	return runGenerate(args, stdout)
}

// flags makes a flag set whose errors are usage errors.
type flags struct{ *flag.FlagSet }

func newFlags(name string) flags {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return flags{f}
}

// parse reads args; anything left over and every missing required flag is an error.
func (f flags) parse(args []string, required ...string) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %v", errUsage, err)
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%w: unexpected argument %q", errUsage, f.Arg(0))
	}
	for _, name := range required {
		if f.Lookup(name).Value.String() == "" {
			return fmt.Errorf("%w: %s needs -%s", errUsage, f.Name(), name)
		}
	}
	return nil
}
