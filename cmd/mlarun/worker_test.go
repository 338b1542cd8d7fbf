package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWorkerUsage(t *testing.T) {
	for args, want := range map[string]string{
		"worker -model F": "-nats is missing", "worker -nats nats://localhost:1": "-model is missing", "submit x": "-nats is missing",
		"submit -nats nats://localhost:1": "expected one file",
	} {
		if args == "submit x" { // the file is read first
			name := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(name, []byte(batchLine(0)), 0o600); err != nil {
				t.Fatal(err)
			}
			args = "submit " + name
		}
		if r := mlarun("", strings.Fields(args)...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%s: %+v; expected %q", args, r, want)
		}
	}
	if r := mlarun("", "submit", "-nats", "nats://localhost:1", shipped); r.code != exitError || !strings.Contains(r.err, "line 1") {
		t.Errorf("%+v", r)
	}
}

func batchLine(i int) string {
	return fmt.Sprintf(`{"custom_id": "r%d", "method": "POST", "url": "/v1/completions", "body": {"prompt": "func f%d() {", "max_tokens": 48, "temperature": 0}}`+"\n", i, i)
}
