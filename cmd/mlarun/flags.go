package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"mla/cmd/internal/output"
	"mla/runtime/device"
	"mla/runtime/engine/opening"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
)

// usageError is an error of the command line. It does not list all flags, which would hide the reason.
type usageError struct{ reason, usage, help string }

func (e *usageError) Error() string { return e.reason }

func (e *usageError) print(w io.Writer) { fmt.Fprintf(w, "Usage: %s\n%s\n", e.usage, e.help) }

// flags is a command's flag set, with the flags that all commands share.
type flags struct {
	*flag.FlagSet
	env      *env
	args     string // the command's arguments, in one line
	after    string // the end of the command's help
	model    string
	pre      string
	bundle   string
	act      string
	device   string
	metalLib string
	cudaLib  string
	metallib string
	replay   string
	threads  int
	simd     string
	kv       string
	ahead    int
	least    int // the least context, in tokens
	width    int
	alone    bool    // one row at a time
	cacheRAM float64 // MiB; negative: the default
	force    bool
	quiet    bool
	draft    opening.Drafting
	ignored  []string          // notes about ignored flags of other programs
	named    map[string]string // alternative names of flags, and the flags' own names
	log      *slog.Logger      // receives notes if the command prints none; may be nil
	looking  bool              // only files are inspected, so no bundle is made
	keptOnly bool              // no GPU is tried; only kept verdicts count
	exact    bool              // activations are floats on a GPU too, unless -act or -bundle selects halves
	inHost   bool              // the model must run in the host's memory
	found    *bundles.Finder   // created at the first use
}

// newFlags returns the flag set of a command. args describes its arguments in a line, and -h prints the lines
// of more after it.
func newFlags(e *env, command, args string, more ...string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(command, flag.ContinueOnError), env: e, args: args}
	f.SetOutput(io.Discard) // main prints errors and usage
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "Usage:", command, args)
		for _, line := range more {
			fmt.Fprintln(f.Output(), line)
		}
		f.printFlags(f.Output())
		fmt.Fprint(f.Output(), "\nA name in brackets is a variable that stands for the flag where it is not given.\n"+f.after)
	}
	f.StringVar(&f.model, "model", "", "model `file` (GGUF), of a split one any part; or a model of the hub, as for -hf")
	f.hubFlag()
	f.preFlag()
	return f
}

// running adds the flags of commands that run the model.
func (f *flags) running() *flags {
	f.StringVar(&f.bundle, "bundle", "", "`bundle` file to use, or the name of a compiled bundle (default: my.mla beside my.gguf, then those of mlagen -install, then the program's; of each the one that fits best)")
	f.StringVar(&f.act, "act", "", "`type` of the activations: f32, f16 for half as many bytes between kernels, or q8: floats, rounded to signed bytes where the CPU multiplies them, which is quicker and less exact (default "+usualAct+", or what -bundle has)")
	f.StringVar(&f.device, "device", "auto", "`where` to run: "+deviceNames(f.env))
	f.StringVar(&f.metalLib, "metal-lib", "", "`library` that stands in for Apple's Metal, e.g. build/libmetalsim.so")
	f.StringVar(&f.metallib, "metallib", "", "`folder` with compiled Metal kernels, see make metallib (default: where the program is)")
	f.StringVar(&f.cudaLib, "cuda-lib", "", "`library` that stands in for NVIDIA's driver, e.g. build/libcudasim.so")
	f.StringVar(&f.replay, "replay", "auto", "`how` the Metal device replays a token: icb, encode, or auto: icb if a test in another process went well")
	f.IntVar(&f.threads, "threads", 0, "`number` of CPU threads (default: one per core)")
	f.StringVar(&f.simd, "simd", "", "inner loops of the CPU device, and no library, by `name`: avx512, avx2, neon or go (default: the best of this machine)")
	f.StringVar(&f.kv, "kv", "f16", "element `type` of the KV cache: f16, f32, or q8_0 for half of f16's bytes")
	f.IntVar(&f.ahead, "ahead", defaultAhead, "`tokens` that a GPU picks and runs in one submission; 0: the CPU picks every token")
	f.BoolVar(&f.alone, "deterministic", false, "run every token by itself, so that a text does not depend on other requests: the same as -width 1")
	f.IntVar(&f.width, "width", 0, "most `tokens` that run at once, of a prompt or of several sessions (default: as many as the bundle has)")
	f.Float64Var(&f.cacheRAM, "cache-ram", defaultCacheRAM, "`MiB` of the host's memory for copies of states of models with linear attention, after which texts can go on; 0: none, -1: eight copies for each session")
	f.BoolVar(&f.force, "force", false, "run even if the memory estimate is above what is available")
	f.BoolVar(&f.quiet, "quiet", false, "print nothing on stderr but errors")
	return f
}

// defaultCacheRAM selects the engine's default.
const defaultCacheRAM = -1

const usualAct = "f16 on a GPU and f32 on the CPU"

// comparing marks a command whose results are compared with those of other programs: its activations are
// floats.
func (f *flags) comparing() *flags {
	f.exact = true
	act := f.Lookup("act")
	act.Usage = strings.Replace(act.Usage, usualAct, plan.ActNames[plan.ElemF32], 1)
	return f
}

// defaultAhead is large enough to hide the host's share of a token, and small enough for text to appear
// smoothly.
const defaultAhead = 4

func deviceNames(e *env) string {
	return strings.Join(append([]string{autoDevice}, slices.Sorted(maps.Keys(e.devices))...), " or ")
}

// parse parses a command line, on which flags and other arguments may be mixed.
func (f *flags) parse(args []string) (rest []string, err error) {
	f.addAliases()
	if f.env.declared != nil {
		f.env.declared(f.FlagSet)
		return nil, flag.ErrHelp
	}
	for {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				out := &output.Writer{To: f.env.out}
				f.SetOutput(out)
				f.Usage()
				if out.Err != nil {
					return nil, out.Err
				}
				return nil, err
			}
			left, ok := f.skip(err, args[len(args)-f.NArg()-1], f.Args())
			if !ok {
				return nil, f.wrong("%s", f.unknown(err))
			}
			args = left
			continue
		}
		if f.NArg() == 0 {
			err := f.readVariables()
			for _, line := range f.ignored {
				f.note("%s\n", line)
			}
			f.ignored = nil
			return rest, err
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// parseAll is parse for commands whose only argument without a flag is "-", which stands for stdin.
func (f *flags) parseAll(args []string) (stdin bool, err error) {
	rest, err := f.parse(args)
	if err != nil {
		return false, err
	}
	for _, arg := range rest {
		if arg != "-" {
			return false, f.wrong("unexpected argument %q", arg)
		}
		stdin = true
	}
	if f.model == "" {
		return false, f.wrong("-model is missing")
	}
	return stdin, nil
}

// wrong returns an error about the use of the command.
func (f *flags) wrong(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), f.Name() + " " + f.args, f.Name() + " -h lists the flags."}
}

// actInt8 is the value of -act for mat-vec inputs that are rounded to bytes.
const actInt8 = "q8"

// bundleAct returns the type of a bundle's activations that -act selects.
func (f *flags) bundleAct() string {
	if f.act == actInt8 {
		return plan.ActNames[plan.ElemF32]
	}
	return f.act
}

// actOf returns the value of -act for the running bundle.
func (f *flags) actOf(b *plan.Bundle) string {
	if f.act == actInt8 {
		return actInt8
	}
	return b.Act()
}

// kindOf describes the running bundle among the bundles of its spec.
func (f *flags) kindOf(b *plan.Bundle) string {
	if f.act == actInt8 {
		return b.Kind() + ", rounded to bytes for products"
	}
	return b.Kind()
}

// contextFlag adds -c to a command whose context is otherwise as long as its tokens need.
func (f *flags) contextFlag() {
	f.IntVar(&f.least, "c", 0, "`tokens` of context at least (default: as many as are run); the rotary factors of MiniCPM3 follow it")
}

// config returns the configuration of a session with the given context.
func (f *flags) config(context int) (device.Config, error) {
	cfg := device.Config{Context: context, Threads: f.threads}
	var err error
	if cfg.KV, err = plan.CacheType(f.kv); err != nil {
		return cfg, f.wrong("-kv %v", err)
	}
	if f.act != "" && f.act != actInt8 && !slices.Contains(plan.ActNames, f.act) {
		return cfg, f.wrong("-act is %q; expected %s or %s", f.act, strings.Join(plan.ActNames, ", "), actInt8)
	}
	cfg.Int8 = f.act == actInt8
	if f.ahead < 0 || f.ahead > device.MaxAhead/2 {
		return cfg, f.wrong("-ahead is %d; expected 0 to %d", f.ahead, device.MaxAhead/2)
	}
	if f.least < 0 {
		return cfg, f.wrong("-c is %d; expected 0 or more", f.least)
	}
	if f.alone {
		if f.width > 1 {
			return cfg, f.wrong("-deterministic runs one row at a time; -width %d more", f.width)
		}
		f.width = 1
	}
	if f.width < 0 || f.width > plan.MaxWidth {
		return cfg, f.wrong("-width is %d; expected 1 to %d, or 0 for as many as the bundle has", f.width, plan.MaxWidth)
	}
	if f.cacheRAM != defaultCacheRAM {
		if !(f.cacheRAM >= 0 && f.cacheRAM <= 1<<30) {
			return cfg, f.wrong("-cache-ram is %g; expected MiB from 0 on", f.cacheRAM)
		}
		if cfg.CacheRAM = int64(f.cacheRAM * (1 << 20)); cfg.CacheRAM == 0 {
			cfg.CacheRAM = -1
		}
	}
	if f.threads < 0 {
		return cfg, f.wrong("-threads is %d; expected 0 or more", f.threads)
	}
	return cfg, nil
}
