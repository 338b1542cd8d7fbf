// Package child runs a program in a process of its own, for what may crash or hang.
// Run comes back in any case and says what became of the process.
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
	// Line is called with every line of standard output, without its end and cut at
	// LongestLine bytes. It is not called after Run has returned. nil drops them.
	Line func(line []byte)
}

// End says how a process ended.
type End string

// The ends.
const (
	Done    End = "done"        // exit code 0
	Failed  End = "failed"      // another exit code
	Crashed End = "crashed"     // a signal, or Go's runtime gave up
	Hung    End = "hung"        // killed when its time was up
	Stopped End = "stopped"     // killed because the context was cancelled
	Missing End = "not started" // it could not be started
)

// Outcome is what became of a process.
type Outcome struct {
	End     End
	Reason  string // in a line; "" for Done
	Said    string // standard error, shortened to its beginning and its end
	Elapsed time.Duration
}

// reapTime is how long a killed process has to disappear. One that waits inside the
// kernel for a driver may never do; it is then left behind.
const reapTime = 5 * time.Second

// Run starts the command and waits until it has ended or its time is up. The process
// gets a standard input of its own, which ends when this process does: see Guard.
func Run(ctx context.Context, c Command) Outcome {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.WaitDelay = reapTime
	cmd.Cancel = func() error {
		if errors.Is(ctx.Err(), context.Canceled) {
			return cmd.Process.Signal(os.Interrupt) // it may have something to say yet
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

// judge says how a process ended whose Wait gave err.
func judge(ctx context.Context, limit time.Duration, err error, said string) (End, string) {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // the latter: exit code 0, and someone else holds its output
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

// goCrash is the exit code of a process that Go's runtime ended.
const goCrash = 2

// crash is the line with which Go's runtime reports the end of a process, with what
// was said first: a library that aborts says why before.
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

// lastWords adds the last line of standard error to a reason.
func lastWords(said, reason string) string {
	said = strings.TrimSpace(said)
	if last := strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:]); last != "" {
		return reason + ": " + last
	}
	return reason
}

// Guard ends this process, which Run has started, when the process that started it
// is gone. It takes standard input.
func Guard() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}
