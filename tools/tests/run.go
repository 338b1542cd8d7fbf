package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
	Elapsed                                                float64 // seconds
}

// goTest runs the tests of packages and passes their events to p. An interrupt ends the tests and all
// processes that they have started.
func goTest(o options, packages []string, p *progress, interrupted <-chan os.Signal) error {
	args := append([]string{"test", "-json", "-timeout", o.timeout.String()}, o.tags()...)
	if o.race {
		args = append(args, "-race")
	}
	if o.race || o.deep { // make vet checks the tests of both tiers more thoroughly
		args = append(args, "-vet=off")
	}
	if o.pattern != "" {
		args = append(args, "-run", o.pattern)
	}
	cmd := exec.Command("go", append(args, packages...)...)
	if !o.race { // the flag of normal builds, so that tests and programs share compiled packages
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-interrupted:
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // the process may have ended
		case <-done:
		}
	}()
	err = readEvents(out, p)
	ended := cmd.Wait()
	close(done)
	switch {
	case err != nil:
		return err
	case len(p.failed) > 0:
		return fmt.Errorf("%d of %d packages failed: %s", len(p.failed), len(packages), strings.Join(p.failed, " "))
	case ended != nil:
		return fmt.Errorf("go test: %w\n%s", ended, problems.Bytes())
	case p.ended != len(packages):
		return fmt.Errorf("%d of %d packages have reported\n%s", p.ended, len(packages), problems.Bytes())
	}
	return nil
}

// longestLine is the maximum length in bytes of a line that a test may print.
const longestLine = 16 << 20

// readEvents passes the lines of `go test -json` to p. A line that is no event is printed.
func readEvents(r io.Reader, p *progress) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(p.out, lines.Text())
			continue
		}
		p.take(e, time.Now())
	}
	return lines.Err()
}
