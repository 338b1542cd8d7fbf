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
	"mla/runtime/gguf"
	"mla/runtime/plan/bundlefile"
)

// own is a command line of mlagen as a process.
func own(args string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), argsVariable+"="+strings.Join(strings.Fields(args), "\t"))
	return cmd
}

const tiny = "../../specs/yoututiny.yaml"

// writers are command lines that write a file, named FILE in them, each with a function that checks that a
// file is complete.
var writers = []struct {
	args, name string
	whole      func(path string) error
}{
	{"-gguf " + unseen + "plm-mini-Q4_K_M.gguf -o FILE", "x.mla", func(path string) error {
		_, err := bundlefile.Open(path)
		return err
	}},
	{"init -gguf " + unseen + "plm-mini-Q4_K_M.gguf -o FILE", "x.yaml", func(path string) error {
		text, err := os.ReadFile(path)
		if err == nil && !strings.HasSuffix(string(text), "\n") {
			err = errors.New("it does not end with a line")
		}
		return err
	}},
	{"-spec " + tiny + " -o FILE", "x.mla", func(path string) error {
		_, err := bundlefile.Open(path)
		return err
	}},
	{"describe -spec " + tiny + " -html FILE", "x.html", func(path string) error {
		text, err := os.ReadFile(path)
		if err == nil && !strings.HasSuffix(strings.TrimSpace(string(text)), "</html>") {
			err = errors.New("it does not end as a page")
		}
		return err
	}},
	{"synth -spec " + tiny + " -quant q4_0 -o FILE", "x.gguf", func(path string) error {
		file, err := gguf.Open(path)
		if err != nil {
			return err
		}
		return file.Close()
	}},
}

// TestNoRoom: on a full disk and in a read-only folder every command says so and fails,
// and leaves nothing behind.
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
			path := filepath.Join(folder, w.name)
			if err := os.Chmod(folder, kind.mode); err != nil {
				t.Fatal(err)
			}
			got, err := kind.run(own(strings.ReplaceAll(w.args, "FILE", path)))
			if err != nil {
				t.Fatal(err)
			}
			if got.Code != exitError || !strings.Contains(got.Err, kind.want) || !strings.Contains(got.Err, path) {
				t.Errorf("%s: %s: exit %d, %v: %s", kind.name, w.args, got.Code, got.Signal, got.Err)
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("%s: %s leaves %v, %v", kind.name, w.args, left, err)
			}
			if err := os.Chmod(folder, 0o755); err != nil { // to be removed
				t.Fatal(err)
			}
		}
	}
}

// TestOutputLost: standard output on a full disk is an error; with a reader that has
// seen enough, as in mlagen … | head -1, the program ends without a word.
func TestOutputLost(t *testing.T) {
	for _, args := range []string{"-h", "man", "-version", "describe -spec " + tiny, "describe -json -spec " + tiny, "dump -spec " + tiny, "dump -passes -spec " + tiny} {
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

// TestKilled: a run that is killed leaves a whole file or none.
func TestKilled(t *testing.T) {
	for _, w := range writers {
		path := filepath.Join(t.TempDir(), w.name)
		args := strings.ReplaceAll(w.args, "FILE", path)
		start := time.Now()
		if got, err := hostile.ReadOnly(own(args)); err != nil || got.Code != exitOK || w.whole(path) != nil {
			t.Fatalf("%s: %+v, %v, %v", args, got, err, w.whole(path))
		}
		took := time.Since(start)
		for range 4 {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			cmd := own(args)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rand.Int64N(int64(took))))
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
			if err := w.whole(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", args, err)
			}
		}
	}
}
