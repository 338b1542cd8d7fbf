package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// limit is how long a group of processes may take. Wall time would not do: what shares the
// machine must not decide who is caught.
type limit struct {
	most  time.Duration // of processor time
	idle  time.Duration // without a thread that runs or waits for a processor
	every time.Duration // from one look at the group to the next
}

// limits: unchanged, the longest trial needs two minutes of processor time.
var limits = limit{most: 20 * time.Minute, idle: 5 * time.Minute, every: time.Second}

// exceeded returns true when a group has taken longer, and false when ctx is done before.
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

// clockTick is the unit of times in /proc, which is the same on all machines.
const clockTick = time.Second / 100

// work is the processor time that a group's processes, and their children, have used, and
// whether any of their threads could use more.
func work(group int) (used time.Duration, able bool) {
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is correct
	for _, p := range processes {
		f := stat(p)
		if len(f) < 15 || f[2] != strconv.Itoa(group) {
			continue
		}
		for _, ticks := range f[11:15] { // user and system time: its own, then its children's
			n, _ := strconv.ParseInt(ticks, 10, 64) // the system writes numbers
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

// stat is the fields of a process or thread from its state on; none if it has ended.
func stat(folder string) (fields []string) {
	text, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return nil
	}
	_, rest, _ := bytes.Cut(text[max(0, bytes.LastIndexByte(text, ')')):], []byte(" ")) // after its name
	for _, f := range bytes.Fields(rest) {
		fields = append(fields, string(f))
	}
	return fields
}
