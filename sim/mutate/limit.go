package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// limit bounds the time of a process group. It counts processor time: with wall time, other programs on the
// machine could make a trial fail.
type limit struct {
	most  time.Duration // the processor time allowed
	idle  time.Duration // how long no thread may be running or runnable
	every time.Duration // the interval between checks
}

// limits are the limits of a trial. The longest trial without a mutation needs two minutes of processor time.
var limits = limit{most: 20 * time.Minute, idle: 5 * time.Minute, every: time.Second}

// exceeded waits until the process group exceeds the limit (true) or ctx is done (false).
func (l limit) exceeded(ctx context.Context, group int) bool {
	look := time.NewTicker(l.every)
	defer look.Stop()
	var seen time.Duration
	worked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
		}
		used, able := work(group)
		if able || used > seen+l.every/50 {
			worked = time.Now()
		}
		seen = max(seen, used)
		if used > l.most || time.Since(worked) > l.idle {
			return true
		}
	}
}

// clockTick is the unit of times in /proc. Linux uses the same one on all architectures.
const clockTick = time.Second / 100

// work returns the processor time that a process group and its waited-for children have used, and whether any
// of its threads is running or runnable.
func work(group int) (used time.Duration, able bool) {
	processes, _ := filepath.Glob("/proc/[0-9]*") // Glob fails only on malformed patterns
	for _, p := range processes {
		f := stat(p)
		if len(f) < 15 || f[2] != strconv.Itoa(group) {
			continue
		}
		for _, ticks := range f[11:15] { // utime, stime, cutime, cstime
			n, _ := strconv.ParseInt(ticks, 10, 64) // the kernel writes decimal numbers
			used += time.Duration(n) * clockTick
		}
		threads, _ := filepath.Glob(p + "/task/*")
		for _, t := range threads {
			if s := stat(t); len(s) > 0 && (s[0] == "R" || s[0] == "D") {
				able = true
			}
		}
	}
	return used, able
}

// stat returns the fields of /proc/PID/stat from the state on. The result is empty if the process or thread
// has ended.
func stat(folder string) (fields []string) {
	text, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return nil
	}
	_, rest, _ := bytes.Cut(text[max(0, bytes.LastIndexByte(text, ')')):], []byte(" ")) // the name may contain spaces and parentheses
	for _, f := range bytes.Fields(rest) {
		fields = append(fields, string(f))
	}
	return fields
}
