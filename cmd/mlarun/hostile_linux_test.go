package main

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mla/cmd/internal/hostile"
)

// own is a command line of mlarun as a process.
func own(args string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), argsVariable+"="+strings.Join(strings.Fields(args), "\n"))
	return cmd
}

// writers are command lines that write a file, whose name follows.
var writers = []string{
	"logits -quiet -model " + glm + " -tokens 3,40,200,7,9 -o ",
	"perplexity -quiet -model ../../testdata/tinyglm.gguf -f main.go -c 64 -chunks 2 -save-logits ",
	"-quiet -model " + glm + " -p x -n 2 -prompt-cache ",
	"doctor -quiet -device cpu -n 0 -t 1ns -report ",
}

// TestNoRoom: on a full disk and in a read-only folder every command says so and fails,
// leaves an old file as it was, and no new one behind.
func TestNoRoom(t *testing.T) {
	for _, w := range writers {
		for _, kind := range []struct {
			name string
			run  func(*exec.Cmd) (hostile.Result, error)
			mode fs.FileMode // of the folder
			want string
		}{
			{"full disk", hostile.FullDisk, 0o755, "file too large"},
			{"read-only folder", hostile.ReadOnly, 0o555, "permission denied"},
		} {
			folder := t.TempDir()
			path := filepath.Join(folder, "file")
			if err := os.Chmod(folder, kind.mode); err != nil {
				t.Fatal(err)
			}
			got, err := kind.run(own(w + path))
			if err != nil {
				t.Fatal(err)
			}
			if got.Code != exitError || !strings.Contains(got.Err, kind.want) || !strings.Contains(got.Err, path) {
				t.Errorf("%s: %s%s: exit %d, %v: %s", kind.name, w, path, got.Code, got.Signal, got.Err)
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("%s: %s leaves %v, %v", kind.name, w, left, err)
			}
			if err := os.Chmod(folder, 0o755); err != nil { // to be removed
				t.Fatal(err)
			}
		}
	}
}

// TestOutputLost: standard output on a full disk is an error; with a reader that has
// seen enough, as in mlarun … | head -1, the program ends without a word.
func TestOutputLost(t *testing.T) {
	for _, args := range []string{
		"man",
		"help",
		"-h",
		"bench -h",
		"devices",
		"-version",
		"completion bash",
		"inspect " + glm,
		"tokenize -model ../../testdata/tinyglm.gguf -f main.go",
		"greedy -quiet -model " + glm + " -tokens 3,40 -n 300",
		"-quiet -model ../../testdata/tinyglm.gguf -p x -n 300 -temp 0",
		"bench -quiet -model " + glm + " -p 4 -n 4 -r 1",
		"doctor -device cpu -n 0 -t 1ns",
		"perplexity -quiet -model ../../testdata/tinyglm.gguf -f main.go -c 64 -chunks 2",
	} {
		lost, err := hostile.FullOutput(own(args))
		if err != nil || lost.Code != exitError || !strings.Contains(lost.Err, "no space left on device") {
			t.Errorf("%s > /dev/full: exit %d, %v: %s", args, lost.Code, err, lost.Err)
		}
		got, err := hostile.Gone(own(args))
		if err != nil || got.Err != "" || got.Signal != 0 && got.Signal != syscall.SIGPIPE {
			t.Errorf("%s | head -1: exit %d, %v, %v: %s", args, got.Code, got.Signal, err, got.Err)
		}
	}
}

// TestKilled: a run that is killed leaves no file that a later one takes for whole.
func TestKilled(t *testing.T) {
	for _, w := range writers {
		path := filepath.Join(t.TempDir(), "file")
		whole, err := hostile.ReadOnly(own(w + path))
		if err != nil || whole.Code != 0 {
			t.Fatalf("%s: %+v, %v", w, whole, err)
		}
		want := len(content(t, path))
		for range 3 {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			cmd := own(w + path)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rand.Int64N(int64(300 * time.Millisecond))))
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
			if _, err := os.Stat(path); err == nil && !isWhole(w, content(t, path), want) {
				t.Errorf("%s: %d bytes; all are %d:\n%.400s", w, len(content(t, path)), want, content(t, path))
			}
		}
	}
}

// isWhole says whether a file is what a writer would not have gone on with. The doctor
// writes its report anew before every stage, whole each time: it ends with a row of a table,
// or with the list of what was not made.
func isWhole(writer string, file []byte, size int) bool {
	if strings.HasPrefix(writer, "doctor") {
		return strings.HasPrefix(string(file), "# mlarun doctor\n") && (len(file) == size || strings.HasSuffix(string(file), "|\n"))
	}
	return len(file) == size
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
