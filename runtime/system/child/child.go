// Package child runs a program that may crash or hang, in a process of its own. Run always returns, and says
// how the process ended.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Command is what to run, and for how long.
type Command struct {
	Path  string
	Args  []string
	Env   []string // NAME=VALUE, in addition to this process's
	Limit time.Duration
	// Line is called with every line of standard output, without its end and cut at LongestLine bytes. It is
	// not called after Run has returned. nil: the output is dropped.
	Line func(line []byte)
}

// End is how a process ended.
type End string

// Values of End.
const (
	Done    End = "done"        // exit code 0
	Failed  End = "failed"      // another exit code
	Crashed End = "crashed"     // by a signal, or by Go's runtime
	Hung    End = "hung"        // killed after its time limit
	Stopped End = "stopped"     // killed because the context was cancelled
	Missing End = "not started" // it could not be started
)

// Outcome is the result of a process.
type Outcome struct {
	End     End
	Reason  string // one line; "" for Done
	Said    string // standard error, shortened to its beginning and end
	Elapsed time.Duration
}

// reapTime is how long a killed process has to disappear. A process that waits inside a driver in the kernel
// may never do so; then Run returns without it.
const reapTime = 5 * time.Second

// Run starts the command and waits until it has ended or its time limit has passed. The process gets a
// standard input that ends when this process does: see Guard.
func Run(ctx context.Context, c Command) Outcome {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.WaitDelay = reapTime
	cmd.Cancel = func() error {
		if errors.Is(ctx.Err(), context.Canceled) {
			return cmd.Process.Signal(os.Interrupt) // it may have something left to report
		}
		return cmd.Process.Kill()
	}
	lines, said := &lines{call: c.Line}, &shortened{}
	cmd.Stdout, cmd.Stderr = lines, said
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return Outcome{End: Missing, Reason: err.Error()}
	}
	defer stdin.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	o := Outcome{}
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(2 * reapTime):
			err = errors.New("it could not be killed")
		}
	}
	lines.end()
	o.Elapsed, o.Said = time.Since(start), said.String()
	o.End, o.Reason = judge(ctx, c.Limit, err, o.Said)
	return o
}

// judge says how a process ended for which Wait has returned err.
func judge(ctx context.Context, limit time.Duration, err error, said string) (End, string) {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // ErrWaitDelay: exit code 0, but another process keeps its output open
		return Done, ""
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Hung, fmt.Sprintf("no end after %v", limit)
	case ctx.Err() != nil:
		return Stopped, "it was stopped"
	case !errors.As(err, &exit):
		return Failed, err.Error()
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Crashed, lastWords(said, "killed: "+status.Signal().String())
	}
	if line := crash(said); line != "" && exit.ExitCode() == goCrash {
		return Crashed, line
	}
	return Failed, lastWords(said, exit.Error())
}

// goCrash is the exit code of a process that Go's runtime has ended.
const goCrash = 2

// crash is the line with which Go's runtime reports a crash, together with the first line of standard error,
// because a library that aborts gives its reason before.
func crash(said string) string {
	first := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		for _, begin := range []string{"SIG", "fatal error: ", "panic: "} {
			if !strings.HasPrefix(line, begin) {
				continue
			}
			if first != "" {
				return first + " (" + line + ")"
			}
			return line
		}
		if first == "" {
			first = line
		}
	}
	return ""
}

// lastWords appends the last line of standard error to a reason.
func lastWords(said, reason string) string {
	said = strings.TrimSpace(said)
	if last := strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:]); last != "" {
		return reason + ": " + last
	}
	return reason
}

// Guard ends this process, which Run has started, once the process that started it has ended. It reads
// standard input.
func Guard() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}
