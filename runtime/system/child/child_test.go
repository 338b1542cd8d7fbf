package child

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// actVariable makes this test binary a child that does what it names.
const actVariable = "CHILD_TEST_ACT"

var acts = map[string]func(){
	"speak":  func() { fmt.Print("one\n\ntwo"); fmt.Fprintln(os.Stderr, "aside") },
	"fail":   func() { fmt.Fprintln(os.Stderr, "first\nmlarun: no luck"); os.Exit(2) },
	"panic":  func() { panic("oh") },
	"abort":  func() { fmt.Fprintln(os.Stderr, "\n[rule] broken"); die(syscall.SIGABRT) },
	"kill":   func() { die(syscall.SIGKILL) },
	"hang":   func() { fmt.Println("here"); time.Sleep(time.Minute) },
	"long":   func() { fmt.Println(strings.Repeat("x", 3*LongestLine)); fmt.Println("end") },
	"flood":  func() { fmt.Fprint(os.Stderr, "begin"+strings.Repeat("\n...", 1<<18)+"end") },
	"stdin":  func() { n, err := io.Copy(io.Discard, os.Stdin); fmt.Println(n, err) },
	"parent": parent,
	"guarded": func() {
		Guard()
		fmt.Println(os.Getpid())
		time.Sleep(time.Minute)
	},
	// leaves behind a process that holds its output
	"daemon": func() {
		cmd := exec.Command("sleep", "60")
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
	},
}

func die(s syscall.Signal) {
	_ = syscall.Kill(os.Getpid(), s)
	time.Sleep(time.Minute)
}

// parent runs a guarded process and passes its lines on.
func parent() {
	Run(context.Background(), act("guarded", time.Minute, func(line []byte) { fmt.Printf("%s\n", line) }))
}

func act(name string, limit time.Duration, line func([]byte)) Command {
	return Command{Path: os.Args[0], Env: []string{actVariable + "=" + name}, Limit: limit, Line: line}
}

func TestMain(m *testing.M) {
	if f, ok := acts[os.Getenv(actVariable)]; ok {
		f()
		return
	}
	os.Exit(m.Run())
}

// TestRun has a process end in every way.
func TestRun(t *testing.T) {
	for name, tt := range map[string]struct {
		limit  time.Duration // 0: long enough
		end    End
		reason string // a part of it
		lines  []string
		said   string // a part of it
	}{
		"speak": {0, Done, "", []string{"one", "", "two"}, "aside"},
		"fail":  {0, Failed, "exit status 2: mlarun: no luck", nil, "first"},
		"panic": {0, Crashed, "panic: oh", nil, "goroutine 1"},
		"abort": {0, Crashed, "[rule] broken (SIGABRT: abort)", nil, ""},
		"kill":  {0, Crashed, "killed: killed", nil, ""},
		"hang":  {time.Second, Hung, "no end after 1s", []string{"here"}, ""},
		"long":  {0, Done, "", []string{strings.Repeat("x", LongestLine), "end"}, ""},
		"flood": {0, Done, "", nil, "bytes left out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines []string
			limit := tt.limit
			if limit == 0 {
				limit = time.Minute
			}
			o := Run(context.Background(), act(name, limit, func(line []byte) { lines = append(lines, string(line)) }))
			if o.End != tt.end || !strings.Contains(o.Reason, tt.reason) || (tt.reason == "") != (o.Reason == "") || !strings.Contains(o.Said, tt.said) {
				t.Errorf("%+v; expected %+v", o, tt)
			}
			if !slices.Equal(lines, tt.lines) {
				t.Errorf("lines %.100q; expected %.100q", lines, tt.lines)
			}
			if len(o.Said) > keptHead+keptTail+100 || o.Elapsed <= 0 {
				t.Errorf("%d bytes of what it said, %v", len(o.Said), o.Elapsed)
			}
		})
	}
}

// TestReaped checks that nothing of a process is left after any kind of end.
func TestReaped(t *testing.T) {
	for _, name := range []string{"speak", "abort", "hang"} {
		Run(context.Background(), act(name, 2*time.Second, nil))
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
			t.Errorf("%s: process %d is left, %v", name, pid, err)
		}
	}
}

// TestStdin checks that a child cannot read the input of this process.
func TestStdin(t *testing.T) {
	start := time.Now()
	if o := Run(context.Background(), act("stdin", time.Second, nil)); o.End != Hung || time.Since(start) > 30*time.Second {
		t.Errorf("%+v; the input should end with this process only", o)
	}
}

func TestMissing(t *testing.T) {
	o := Run(context.Background(), Command{Path: filepath.Join(t.TempDir(), "gone"), Limit: time.Minute})
	if o.End != Missing || !strings.Contains(o.Reason, "no such file") {
		t.Errorf("%+v", o)
	}
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	o := Run(ctx, act("hang", time.Minute, func([]byte) { cancel() }))
	if o.End != Stopped {
		t.Errorf("%+v", o)
	}
}

// TestHeldOutput checks that Run does not wait for a grandchild that holds the output.
func TestHeldOutput(t *testing.T) {
	var pid int
	o := Run(context.Background(), act("daemon", time.Minute, func(line []byte) { pid, _ = strconv.Atoi(string(line)) }))
	if pid == 0 || o.End != Done || o.Elapsed > 30*time.Second {
		t.Errorf("%+v, process %d", o, pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// TestGuard kills the parent of a guarded process, which then ends too.
func TestGuard(t *testing.T) {
	c := act("parent", time.Minute, nil)
	cmd := exec.Command(c.Path)
	cmd.Env = append(os.Environ(), c.Env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for end := time.Now().Add(20 * time.Second); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the guarded process lives on")
		}
	}
}

// zombie tells whether a process has ended, and nobody has waited for it.
func zombie(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(string(out), "Z")
}
