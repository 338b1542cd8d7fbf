//go:build deep

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestWorkers: two workers answer a batch; one is killed with requests at hand, which the
// other one answers.
func TestWorkers(t *testing.T) {
	const n = 40
	broker, err := server.NewServer(&server.Options{Port: -1, Host: "127.0.0.1", JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	defer broker.Shutdown()
	if !broker.ReadyForConnections(10 * time.Second) {
		t.Fatal("the broker does not start")
	}
	url := broker.ClientURL()
	in, out := filepath.Join(t.TempDir(), "in.jsonl"), filepath.Join(t.TempDir(), "out.jsonl")
	text := ""
	for i := range n {
		text += batchLine(i)
	}
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	work := func() *os.Process {
		c, err := selfTested([]string{"worker", "-nats", url, "-model", shipped, "-c", "128", "-parallel", "2", "-threads", "1", "-quiet"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := os.StartProcess(c.Path, []string{c.Path}, &os.ProcAttr{Env: append(os.Environ(), c.Env...), Files: []*os.File{nil, nil, os.Stderr}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	killed, other := work(), work()
	defer func() {
		if err := other.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if state, err := other.Wait(); err != nil || !state.Success() {
			t.Errorf("the other worker: %v, %v", state, err)
		}
	}()
	done := make(chan result, 1)
	go func() { done <- mlarun("", "submit", "-nats", url, "-o", out, in) }()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stored := func() uint64 {
		stream, err := js.Stream(t.Context(), "mla_answers")
		if err != nil {
			return 0 // not made yet
		}
		return stream.CachedInfo().State.Msgs
	}
	for end := time.Now().Add(60 * time.Second); stored() < 8; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no answers")
		}
	}
	if err := killed.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := killed.Wait(); err != nil {
		t.Fatal(err)
	}
	at := stored()
	if r := <-done; r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	t.Logf("killed after %d of %d answers", at, n)
	if at >= n {
		t.Error("the worker was killed too late to prove anything")
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != n || stored() != n {
		t.Fatalf("%d lines, %d answers stored", len(lines), stored())
	}
	for i, line := range lines {
		var a struct {
			CustomID string `json:"custom_id"`
			Response struct {
				Status int `json:"status_code"`
				Body   struct{ Choices []struct{ Text string } }
			}
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil || a.CustomID != fmt.Sprintf("r%d", i) || a.Response.Status != 200 || len(a.Response.Body.Choices) != 1 || a.Response.Body.Choices[0].Text == "" {
			t.Errorf("%d: %v, %s", i, err, line)
		}
	}
}
