// Package hostile runs a program where it cannot write: on a full disk, in a read-only folder, or to a reader
// that has closed. It is for tests.
package hostile

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Result is the outcome of a process.
type Result struct {
	Code     int // -1: a signal ended the process
	Signal   syscall.Signal
	Out, Err string
}

// FullDisk runs a command whose files cannot grow, as on a full disk.
func FullDisk(cmd *exec.Cmd) (Result, error) {
	limited := exec.Command("sh", append([]string{"-c", `ulimit -f 0 && exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)...)
	limited.Env, limited.Dir = cmd.Env, cmd.Dir
	return run(limited)
}

// ReadOnly runs a command that may not write where a file's mode forbids writing, even if the test itself
// may.
func ReadOnly(cmd *exec.Cmd) (result Result, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The process inherits the missing capabilities of this thread. The thread ends with the goroutine.
		runtime.LockOSThread()
		if unix.Geteuid() == 0 {
			if err = unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_DAC_OVERRIDE, 0, 0, 0); err != nil {
				return
			}
		}
		result, err = run(cmd)
	}()
	<-done
	return result, err
}

// Gone runs a command whose standard output is read up to the first byte and then closed.
func Gone(cmd *exec.Cmd) (Result, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Result{}, err
	}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if err := cmd.Start(); err != nil {
		return Result{}, err
	}
	_, err = out.Read(make([]byte, 1))
	err = errors.Join(err, out.Close())
	ended := cmd.Wait()
	r, bad := outcome(cmd, ended)
	r.Err = problems.String()
	return r, errors.Join(err, bad)
}

// FullOutput runs a command whose standard output is on a full disk.
func FullOutput(cmd *exec.Cmd) (Result, error) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return Result{}, err
	}
	var problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &problems
	r, err := outcome(cmd, cmd.Run())
	r.Err = problems.String()
	return r, errors.Join(err, full.Close())
}

// run runs a command to its end.
func run(cmd *exec.Cmd) (Result, error) {
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	r, err := outcome(cmd, cmd.Run())
	r.Out, r.Err = out.String(), problems.String()
	return r, err
}

// outcome returns how a command ended, or an error if it did not start.
func outcome(cmd *exec.Cmd, err error) (Result, error) {
	if cmd.ProcessState == nil {
		return Result{}, err
	}
	r := Result{Code: cmd.ProcessState.ExitCode()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = status.Signal()
	}
	return r, nil
}
