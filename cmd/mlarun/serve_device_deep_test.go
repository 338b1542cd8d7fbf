//go:build deep

package main

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/plan"
)

// breaking is a device whose replays fail or hang when a test says so.
type breaking struct {
	device.Device
	left atomic.Int64 // replays that fail
	hang chan struct{}
}

func (d *breaking) Load(m *device.Model, cfg device.Config) (device.Runner, error) {
	r, err := d.Device.Load(m, cfg)
	return &breakingRunner{r, d}, err
}

type breakingRunner struct {
	device.Runner
	device *breaking
}

func (r *breakingRunner) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	if r.device.left.Add(-1) < 0 {
		return r.Runner.Replay(rows, wanted)
	}
	if r.device.hang != nil {
		<-r.device.hang
	}
	return nil, errors.New("the GPU fell off the bus")
}

// TestServeDeviceFails: a server whose device fails once goes on; one whose device fails
// for good, or hangs, says so to the client at hand and ends with the exit code for its
// supervisor.
func TestServeDeviceFails(t *testing.T) {
	for name, c := range map[string]struct {
		fails  int64
		hang   chan struct{}
		said   string // to clients
		logged string
		code   int
	}{
		"once": {1, nil, "fell off the bus", "mlarun: -", 0},
		"ever": {1 << 40, nil, "fell off the bus", "mlarun: the device failed 3 times, one after the other, and did not recover: .*fell off the bus", exitDevice},
		"hang": {1 << 40, make(chan struct{}), "a step did not end within 2s", "mlarun: the device failed: a step did not end within 2s", exitDevice},
	} {
		t.Run(name, func(t *testing.T) {
			log := &lockedLog{}
			d := &breaking{hang: c.hang}
			e := &env{in: strings.NewReader(""), out: io.Discard, err: log, bundles: generated.Bundles(), self: selfTested, devices: devices, auto: []string{"cpu"}}
			e.devices = maps.Clone(devices)
			e.devices["cpu"] = func(f *flags) (device.Device, error) {
				var err error
				d.Device, err = openCPU(f)
				return d, err
			}
			stuck := "10m"
			if c.hang != nil {
				stuck = "2s"
			}
			code := make(chan int, 1)
			go func() {
				code <- e.main([]string{"serve", "-model", shipped, "-port", "0", "-c", "64", "-device-retries", "2", "-device-stuck", stuck})
			}()
			url := ""
			for end := time.Now().Add(30 * time.Second); url == "" && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				url = log.find(regexp.MustCompile(`http://127\.0\.0\.1:\d+`))
			}
			for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				status, text := complete(t, url)
				if status == http.StatusOK {
					break
				}
				if status != http.StatusServiceUnavailable || time.Now().After(end) { // it is being loaded
					t.Fatalf("%d %s", status, text)
				}
			}
			d.left.Store(c.fails)
			failed := 0
			for end := time.Now().Add(30 * time.Second); time.Now().Before(end) && len(code) == 0; {
				status, text := complete(t, url)
				if status == http.StatusInternalServerError {
					if failed++; !strings.Contains(text, c.said) {
						t.Errorf("%s", text)
					}
				}
				if status == http.StatusOK {
					break
				}
			}
			if failed == 0 {
				t.Error("no client was told why its request failed")
			}
			if c.code == 0 {
				if d.left.Load() >= 0 || len(code) > 0 {
					t.Errorf("%d failures left; %s", d.left.Load(), log.find(regexp.MustCompile(`(?s).*`)))
				}
				if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil { // the server listens for it
					t.Fatal(err)
				}
			}
			if got := <-code; got != c.code {
				t.Errorf("exit code %d; expected %d", got, c.code)
			}
			if found := log.find(regexp.MustCompile(c.logged)); (found != "") != (c.code != 0) {
				t.Errorf("expected %s in the log:\n%s", c.logged, log.find(regexp.MustCompile(`(?s).*`)))
			}
		})
	}
}

// complete asks a server for a few tokens; the status is 0 if it has gone.
func complete(t *testing.T, url string) (status int, text string) {
	t.Helper()
	r, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"prompt": "func", "max_tokens": 4}`))
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, string(data)
}
