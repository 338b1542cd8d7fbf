//go:build linux

package metal_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func init() { positive["recording"] = recording }

// recording says when it begins and when it has recorded one command.
func recording(s *sim) {
	r := newRig(s).prepare()
	r.icb = r.newIcb(r.icbDescriptor(), 1)
	c := r.command(0)
	fmt.Println("recording")
	r.send(c, "setComputePipelineState:", uintptr(r.scale))
	fmt.Println("recorded")
	r.finish()
}

// TestRecordingCrashes checks that the first setter of a command ends the process by a signal, not by a rule.
func TestRecordingCrashes(t *testing.T) {
	compileKernels(t)
	out, err := child(t, "recording", "METALSIM_FAULT=icb-segv")
	if err == nil || !strings.HasPrefix(out, "recording\n") || !strings.Contains(out, "SIGSEGV") || strings.Contains(out, "[metalsim]") {
		t.Errorf("%v\n%.2000s", err, out)
	}
}

// TestRecordingHangs checks that the first setter of a command does not return.
func TestRecordingHangs(t *testing.T) {
	compileKernels(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), caseVariable+"=recording", "METALSIM_FAULT=icb-hang")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	if line := <-lines; line != "recording" {
		t.Errorf("first line %q", line)
	}
	select {
	case line, open := <-lines:
		t.Errorf("it goes on: %q, %v", line, open)
	case <-time.After(time.Second):
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	for range lines {
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a killed process ended well")
	}
}
