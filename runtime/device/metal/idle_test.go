package metal_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ebitengine/purego"

	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/reference"
)

// idleVariable is an environment variable: the ways to replay that TestIdle runs inside the simulator.
const idleVariable = "MLA_METAL_IDLE"

// books are the simulator's counters, see sim/metal/src/report.h.
type books struct {
	Objects, Pools, InFlight, Made, Commits uint64
	Members, Requests, Unwired              uint64
}

func readBooks(t *testing.T) (b books) {
	t.Helper()
	data, err := os.ReadFile(os.Getenv("METALSIM_REPORT"))
	if err == nil {
		err = binary.Read(bytes.NewReader(data), binary.NativeEndian, &b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestIdle leaves a session idle, for as long as its memory has to stay wired and longer, in simulated time.
func TestIdle(t *testing.T) {
	if how := os.Getenv(idleVariable); how != "" {
		synctest.Test(t, func(t *testing.T) { idleSession(t, metal.Replay(how)) })
		return
	}
	lib := library(t)
	members := map[string]uint64{}
	for _, tt := range []struct{ name, how, os string }{
		{"ICB", "icb", "15"}, {"direct encoding", "encode", "15"}, {"ICB, macOS 26", "icb", "26"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report")
			cmd := exec.Command(os.Args[0], "-test.run=^TestIdle$")
			cmd.Env = append(os.Environ(), idleVariable+"="+tt.how, "MLA_METAL_LIB="+lib, "METALSIM_OS="+tt.os, "METALSIM_REPORT="+report,
				"METALSIM_STRICT=1", "METALSIM_KERNELS=stub")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, head(out))
			}
			t.Setenv("METALSIM_REPORT", report)
			members[tt.name] = readBooks(t).Members
		})
	}
	// A set holds the buffers, an ICB per slot, and from macOS 26 on the pipelines.
	if icb, encode, pipelines := members["ICB"], members["direct encoding"], members["ICB, macOS 26"]; encode < 10 || icb != encode+metal.Ring || pipelines < icb+10 {
		t.Errorf("allocations in residency sets: %v", members)
	}
}

func idleSession(t *testing.T, how metal.Replay) {
	lib := os.Getenv("MLA_METAL_LIB")
	var pass func(float64)
	handle, err := purego.Dlopen(lib, purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	purego.RegisterLibFunc(&pass, handle, "metalsim_pass")

	pos := 0
	err = with(lib, tiny, tinyConfig, metal.Options{Replay: how}, func(r device.Runner) error {
		// idle lets time pass, then computes a token; it returns how often residency was
		// asked for, and how often a token had to wait for it.
		idle := func(d time.Duration) (requests, unwired uint64) {
			before := readBooks(t)
			for range d / (250 * time.Millisecond) {
				time.Sleep(250 * time.Millisecond)
				synctest.Wait()
				pass(0.25)
			}
			if _, err := r.Replay(reference.Rows(1, pos), device.All(1)); err != nil {
				t.Fatal(err)
			}
			pos++
			after := readBooks(t)
			return after.Requests - before.Requests, after.Unwired - before.Unwired
		}
		for _, step := range []struct {
			d             time.Duration
			least, unwire uint64
		}{
			{time.Minute, 60, 0},        // from the beginning on
			{170 * time.Second, 170, 0}, // as long as it lasts
			{200 * time.Second, 170, 1}, // longer
			{30 * time.Second, 30, 0},   // again after a token
			{time.Hour, 170, 1},
		} {
			requests, unwired := idle(step.d)
			if requests < step.least || requests > 400 || unwired != step.unwire {
				t.Errorf("idle for %v: %d requests, %d times un-wired; want %d or more, and %d", step.d, requests, unwired, step.least, step.unwire)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	closed := readBooks(t)
	time.Sleep(time.Hour)
	synctest.Wait()
	if got := readBooks(t); got != closed || got.Objects != 0 || got.Pools != 0 {
		t.Errorf("after the end: %+v, an hour later %+v", closed, got)
	}
}
