package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestInterrupt: Ctrl-C ends a long prompt within one piece of it, a token on this
// device, and what was done is reported.
func TestInterrupt(t *testing.T) {
	const patience = 5 * time.Second // for a loaded machine; a token takes less than a millisecond
	cmd := exec.Command(os.Args[0])
	args := []string{"-device", "cpu", "-threads", "1", "-model", youtu, "-c", "131072", "-v", "-f", "-"}
	cmd.Env = append(os.Environ(), argsVariable+"="+strings.Join(args, "\n"))
	cmd.Stdin = strings.NewReader(strings.Repeat("\x01\x02", 1<<16-1)) // a token a byte: minutes of work
	problems, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, read := bufio.NewReader(problems), &bytes.Buffer{}
	for !strings.Contains(read.String(), "CPU inner loops") { // the last line before the prompt
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err, read)
		}
		read.WriteString(line)
	}
	time.Sleep(500 * time.Millisecond) // in the midst of the prompt
	sent := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	if _, err := io.Copy(read, lines); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code is looked at
	took := time.Since(sent)
	if text := read.String(); cmd.ProcessState.ExitCode() != exitInterrupted || !strings.Contains(text, "end: cancel") || !strings.Contains(text, "prompt ") {
		t.Errorf("exit code %d after %v\n%s", cmd.ProcessState.ExitCode(), took, text)
	}
}
