// Command mlagen compiles the YAML spec of an MLA language model into a bundle:
// a Metal source file and Go tables that mlarun replays.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"mla/cmd/internal/output"
	"mla/runtime/gguf"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	exitDrift = 3
	// 128 + SIGINT, the status that shells report.
	exitInterrupted = 130
)

const exitCodes = "Exit codes: 0 done, 1 error, 2 usage, 3 generated files are out of date, 130 interrupted."

// errUsage marks errors of the command line. The exit code is 2.
var errUsage = errors.New("usage")

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without global state: it takes the arguments and both outputs, and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	out := &output.Writer{To: stdout}
	root := newRoot()
	root.SetArgs(twoDashes(args))
	root.SetOut(out)
	root.SetErr(stderr)
	var c *cobra.Command
	err := gguf.Guard(func() (err error) { // turns a page fault into an error: a mapped model file may be truncated while it is read
		c, err = root.ExecuteC()
		return err
	})
	if err == nil {
		err = out.Err
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errDrift):
		fmt.Fprintln(stderr, err)
		return exitDrift
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "mlagen: %v\n%s -h lists its flags\n", err, c.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(stderr, "%v\n", err)
	return exitError
}

// interruptible returns a context that Ctrl-C cancels until stop is called. Commands use it to remove
// unfinished files.
func interruptible() (ctx context.Context, stop func()) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}
