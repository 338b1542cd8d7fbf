package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// lostModel is a copy of the shipped model that a test may cut.
func lostModel(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ownProcess is a command line of mlarun in a process of its own.
func ownProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), argsVariable+"="+strings.Join(args, "\n"))
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
	})
	return cmd
}

// TestLostModel: a model file that somebody cuts while a text is written ends the command with a sentence.
func TestLostModel(t *testing.T) {
	t.Parallel()
	model, rules := lostModel(t), filepath.Join(t.TempDir(), "long.gbnf")
	if err := os.WriteFile(rules, []byte("root ::= [a-z]{450}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := ownProcess(t, "-model", model, "-device", "cpu", "-p", "hello", "-n", "450", "-q", "-grammar", rules)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(model, 100_000); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), model+": byte ") || !strings.Contains(said.String(), "now has 100000") || strings.Contains(said.String(), "goroutine") {
		t.Errorf("%v\n%s", err, said.String())
	}
}

// TestServeLostModel: the request that meets the loss is an error, and so are those after it; the server goes on.
func TestServeLostModel(t *testing.T) {
	t.Parallel()
	model := lostModel(t)
	cmd := ownProcess(t, "serve", "-model", model, "-device", "cpu", "-port", "0")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	lines := bufio.NewScanner(log)
	for found := regexp.MustCompile(`address=(http://\S+)`); address == "" && lines.Scan(); {
		if m := found.FindStringSubmatch(lines.Text()); m != nil {
			address = m[1]
		}
	}
	crashed := make(chan bool, 1)
	go func() {
		bad := false
		for lines.Scan() {
			bad = bad || strings.Contains(lines.Text(), "goroutine") || strings.Contains(lines.Text(), "fatal error")
		}
		crashed <- bad
	}()
	ask := func() (int, string) {
		r, err := http.Post(address+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"hello","max_tokens":2}`))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) { // until the model is loaded
		code, text := ask()
		if code == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatal(code, text)
		}
	}
	if err := os.Truncate(model, 100_000); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if code, text := ask(); code < 500 || !strings.Contains(text, "now has 100000") {
			t.Errorf("request %d after the loss: %d %s", i, code, text)
		}
		time.Sleep(700 * time.Millisecond) // the model is loaded again in between
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("the server has ended: %v", err)
	}
	if <-crashed {
		t.Error("the server has crashed")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server has ended with %v", err)
	}
}
