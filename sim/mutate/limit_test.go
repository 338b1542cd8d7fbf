package main

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestLimit looks at groups that work, whose children work, and that wait.
func TestLimit(t *testing.T) {
	const soon, never = 300 * time.Millisecond, time.Hour
	const second = "(ulimit -t 1; while :; do :; done); " // of processor time
	for name, tt := range map[string]struct {
		script     string
		most, idle time.Duration
		want       bool
	}{
		"works too long":           {"while :; do :; done", soon, never, true},
		"a child works too long":   {"(while :; do :; done); :", soon, never, true},
		"an ended child's work":    {second + second + "sleep 60", 1500 * time.Millisecond, never, true},
		"works":                    {"while :; do :; done", never, soon, false},
		"a child works":            {"(while :; do :; done); :", never, soon, false},
		"waits for what never is":  {"sleep 60; :", never, soon, true},
		"waits, as long as it may": {"sleep 60; :", soon, never, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("sh", "-c", tt.script)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if !tt.want {
				ctx, cancel = context.WithTimeout(ctx, 3*time.Second)
			}
			defer cancel()
			if got := (limit{tt.most, tt.idle, 20 * time.Millisecond}).exceeded(ctx, cmd.Process.Pid); got != tt.want {
				t.Errorf("exceeded: %t; expected %t", got, tt.want)
			}
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
			_ = cmd.Wait()                                      // it was killed
		})
	}
}
