// Command mlarun runs a model file with the bundle that mlagen compiled for it.
//
// Exit codes: those of exitCodes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mla/generated"
	"mla/runtime/device/metal"
	"mla/runtime/gguf"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
	"mla/runtime/serve/completion"
	"mla/runtime/system/buildinfo"
	"mla/runtime/system/child"
	"mla/runtime/system/nearest"
)

// The exit codes.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitDevice      = 3   // a server's device: a new process may get it to work
	exitInterrupted = 130 // 128 + SIGINT, as in shells
)

// exitCodes describes the exit codes.
const exitCodes = "0 done, 1 error, 2 wrong usage, 3 the device of a server failed and did not recover, 130 interrupted."

// command is a sub-command.
type command struct {
	name, args, does string
	run              func(e *env, args []string) error
}

// commands are matched before the default command, which generates text or chats.
var commands []command

func init() { // -h lists them
	commands = []command{
		{"bench", "-model F [-p 512] [-n 128] [-d 0,4096] [-r 3] [-kernels] [-o md|json|jsonl|csv]", "measure prompt and decoding speed", bench},
		{"serve", "-model F [-host 127.0.0.1] [-port 8080] [-parallel 4] [-api-key KEY]", "serve the model over HTTP, as OpenAI's and Anthropic's clients want it", serve},
		{"worker", "-nats URL -model F [-parallel 4]", "answer the requests of batches that a NATS server hands out", worker},
		{"submit", "-nats URL [-o OUT] BATCH.jsonl", "hand a batch of requests to workers, and write their answers", submit},
		{"perplexity", "-model F -f TEXT [-c 512] [-save-logits FILE | -compare FILE]", "measure how well a text is predicted, and how far from a saved run", perplexity},
		{"logits", "-model F -tokens 3,40,200 -o out.npy", "write the logits at every position as a NumPy file", logits},
		{"greedy", "-model F -tokens 3,40,200 [-tokens 3,7 ...] [-n 16]", "print the most likely continuation of each list as token ids", greedy},
		{"tokenize", "-model F -p TEXT | -f FILE | -", "print the token ids of a text", tokenize},
		{"detokenize", "-model F -tokens 3,40,200 | -", "print the text of token ids", detokenize},
		{"doctor", "[-device D] [-model F] [-t 60s] [-report FILE]", "examine the device and its kernels, with a report to paste into an issue", doctor},
		{"list", "[-o text|json]", "list the models of the hub that are on this machine", listModels},
		{"rm", "USER/REPO[:QUANT] ...", "remove models of the hub from this machine", removeModels},
		{"version", "", "print the version and the compiled bundles", version},
		{"devices", "[-o text|json]", "list what this machine can run models on", listDevices},
		{"inspect", "F", "list metadata, tensors, and the bundle that fits or what does not", inspect},
	}
}

// env is everything that a command may access, so that tests can replace it.
type env struct {
	in       io.Reader
	out, err io.Writer
	bundles  []*plan.Bundle // the program's bundles
	folder   string         // folder of the user's bundle files; "": none
	maker    *bundles.Maker // makes bundle files for models without one; nil: none are made
	devices  map[string]openDevice
	auto     []string                 // the devices that -device auto tries
	patience time.Duration            // limit of a GPU's trial; 0: trial.Limit
	kernels  time.Duration            // time for the trial's kernel comparison; 0: trial.KernelTime
	getenv   func(name string) string // nil: no variables
	// self returns a command line of this program for another process.
	self func(args []string) (child.Command, error)
	// declared, if not nil, is called with a command's flags instead of parsing a command line.
	declared func(*flag.FlagSet)
}

func main() {
	folder, _ := bundlefile.Folder() // without such a folder there are no bundle files
	e := &env{in: os.Stdin, out: os.Stdout, err: os.Stderr, bundles: generated.Bundles(), folder: folder, devices: devices, auto: autoDevices, getenv: os.Getenv, self: self}
	if cache := metal.CacheFolder(); cache != "" {
		e.maker = &bundles.Maker{Compiler: bundles.Compiler(), Version: buildinfo.Line("mlarun"), Folder: filepath.Join(cache, "made")}
	}
	os.Exit(e.main(os.Args[1:]))
}

// variable returns a variable of the environment; "" if it is unset.
func (e *env) variable(name string) string {
	if e.getenv == nil {
		return ""
	}
	return e.getenv(name)
}

// self returns a command line of the file from which this program was started.
func self(args []string) (c child.Command, err error) {
	c.Args = args
	c.Path, err = os.Executable()
	return c, err
}

// main runs a command line and returns the exit code.
func (e *env) main(args []string) int {
	err := gguf.Guard(func() error { return e.dispatch(args) })
	var usage *usageError
	var lost *completion.DeviceError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(e.err, "mlarun: %v\n", err)
		usage.print(e.err)
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &lost):
		fmt.Fprintf(e.err, "mlarun: %v\n", err)
		return exitDevice
	}
	fmt.Fprintf(e.err, "mlarun: %v\n", err)
	return exitError
}

func (e *env) dispatch(args []string) error {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name == args[0] {
				return c.run(e, args[1:])
			}
		}
		switch first := args[0]; {
		case first == "help" && len(args) > 1:
			return e.dispatch([]string{args[1], "-h"})
		case first == "help":
			return overview(e.out)
		case manuals[first] != "":
			return e.writeManual(args)
		case !strings.HasPrefix(first, "-"):
			return unknown(first)
		}
	}
	return generate(e, args)
}

// elsewhere maps commands of other programs to the equivalent here.
var elsewhere = map[string]string{
	"run":  "mlarun -m FILE, or mlarun -hf USER/REPO, without a command",
	"chat": "mlarun -m FILE, or mlarun -hf USER/REPO, without a command",
	"pull": "mlarun -hf USER/REPO, which loads a model once",
	"ls":   "mlarun list",
	"show": "mlarun inspect FILE",
	"cli":  "mlarun without a command",
}

// unknown returns the error for an unknown command.
func unknown(name string) error {
	reason := fmt.Sprintf("unknown command %q; there are %s", name, strings.Join(commandNames(), ", "))
	if here := elsewhere[name]; here != "" {
		reason = fmt.Sprintf("unknown command %q; here it is %s", name, here)
	} else if near := nearest.Of(name, commandNames()); near != "" {
		reason = fmt.Sprintf("unknown command %q; did you mean %s?", name, near)
	}
	if filepath.Ext(name) == ".gguf" {
		reason = fmt.Sprintf("%q is no command; a model file goes after -model", name)
	}
	return &usageError{reason, "mlarun " + generateArgs, "mlarun help lists the commands, mlarun -h the flags."}
}

func commandNames() []string {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.name
	}
	return append(append(names, "help"), slices.Sorted(maps.Keys(manuals))...)
}

// overview prints the usage of the program.
func overview(w io.Writer) error {
	text := "mlarun runs a GGUF model with its compiled bundle.\n\nUsage:\n  mlarun " + generateArgs +
		"\n      continue a text; chat with -chat, or on a terminal without a text\n" + commandLines()
	for _, name := range slices.Sorted(maps.Keys(manuals)) {
		text += fmt.Sprintf("  mlarun %s\n      %s\n", name, manuals[name])
	}
	_, err := io.WriteString(w, text+"\nmlarun -h and mlarun COMMAND -h list the flags.\nExit codes: "+exitCodes+"\n")
	return err
}

// commandLines lists the commands with their descriptions.
func commandLines() string {
	text := ""
	for _, c := range commands {
		text += fmt.Sprintf("  mlarun %s %s\n      %s\n", c.name, c.args, c.does)
	}
	return text
}
