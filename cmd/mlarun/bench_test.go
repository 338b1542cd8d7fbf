package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"mla/runtime/device/linalg"
)

func TestBench(t *testing.T) {
	args := []string{"bench", "-model", glm, "-p", "4", "-n", "2", "-d", "0,5", "-r", "2", "-quiet", "-o"}
	r := mlarun("", append(args, "json")...)
	var list []map[string]any
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || r.code != 0 || len(list) != 4 {
		t.Fatalf("code %d, %v\n%s%s", r.code, err, r.out, r.err)
	}
	for i, want := range []struct {
		test  string
		depth float64
	}{{"pp4", 0}, {"tg2", 0}, {"pp4", 5}, {"tg2", 5}} {
		o := list[i]
		if o["test"] != want.test || o["depth"] != want.depth || !(o["tok_s"].(float64) > 0) || !(o["sd"].(float64) >= 0) || o["act"] != "f32" {
			t.Errorf("object %d is %v; want %v", i, o, want)
		}
		// A prompt test has the time to the first token, which is no less than the prompt's.
		first, has := o["first_s"].(float64)
		fields, least := 20, 0.0
		if has {
			fields, least = 21, 0.99*4/o["tok_s"].(float64) // of two repetitions, means of times and of speeds
		}
		if has != strings.HasPrefix(want.test, "pp") || len(o) != fields || first < least {
			t.Errorf("object %d is %v: it has a first token is %t", i, o, has)
		}
	}
	for key, want := range map[string]any{"model": "glm47-tiny-Q4_0.gguf", "bundle": "glm47tiny", "device": "cpu", "kv": "f16", "cpu_loops": linalg.Backend()} {
		if list[0][key] != want {
			t.Errorf("%s is %v; want %v", key, list[0][key], want)
		}
	}
	if peak, ok := list[0]["peak_bytes"].(float64); !ok || peak < 1<<20 || list[0]["version"] == "" || list[0]["threads"].(float64) < 1 || len(list[0]["spec_sha256"].(string)) != 64 {
		t.Errorf("%v", list[0])
	}
	r = mlarun("", append(args, "jsonl")...)
	if lines := strings.Split(strings.TrimSpace(r.out), "\n"); len(lines) != 4 || !json.Valid([]byte(lines[3])) {
		t.Errorf("jsonl: %q", r.out)
	}
	r = mlarun("", append(args, "csv", "-empty")...)
	if rows, err := csv.NewReader(strings.NewReader(r.out)).ReadAll(); err != nil || len(rows) != 5 || !strings.HasPrefix(strings.Join(rows[0], ","), "test,act,depth,batch,tok_s,sd,first_s,cpu_s,model,") || rows[2][6] != "" || rows[1][8] != "glm47-tiny-Q4_0.gguf" {
		t.Errorf("csv: %v\n%s", err, r.out)
	}
	r = mlarun("", append(args, "md")...)
	if lines := strings.Split(r.out, "\n"); len(lines) != 11 || !strings.Contains(lines[0], linalg.Backend()+" inner loops") || !strings.HasPrefix(lines[4], "| pp4 | 0 | 1 | ") {
		t.Errorf("md:\n%s", r.out)
	}
	r = mlarun("", "bench", "-model", glm, "-p", "0", "-n", "3", "-batch", "1,2,20", "-r", "1", "-quiet", "-o", "csv")
	if rows, err := csv.NewReader(strings.NewReader(r.out)).ReadAll(); err != nil || len(rows) != 4 || rows[1][3] != "1" || rows[2][3] != "2" || rows[3][3] != "20" {
		t.Errorf("batches: %v\n%s%s", err, r.out, r.err)
	}
	r = mlarun("", "bench", "-model", glm, "-p", "0,3,6", "-n", "0", "-r", "1", "-quiet", "-o", "csv")
	if rows, err := csv.NewReader(strings.NewReader(r.out)).ReadAll(); err != nil || len(rows) != 3 || rows[1][0] != "pp3" || rows[2][0] != "pp6" {
		t.Errorf("prompts: %v\n%s%s", err, r.out, r.err)
	}
	if r := mlarun("", "bench", "-model", glm, "-p", "4,x"); r.code != 2 || !strings.Contains(r.err, "-p: \"x\"") {
		t.Errorf("no number: code %d, %s", r.code, r.err)
	}
	// -kernels makes room for a replay of -width rows after each depth: more than the model has
	// positions, and so refused.
	if r := mlarun("", "bench", "-model", glm, "-kernels", "-width", "4096", "-d", "1000000"); r.code != 1 || !strings.Contains(r.err, "a context of 1004096 tokens") {
		t.Errorf("kernels too deep: code %d, %s", r.code, r.err)
	}
	if r := mlarun("", "bench", "-model", glm, "-batch", "0"); r.code != 2 || !strings.Contains(r.err, "-batch is") {
		t.Errorf("no session: code %d, %s", r.code, r.err)
	}
	if r := mlarun("", "bench", "-model", glm, "-d", "1000000"); r.code != 1 || !strings.Contains(r.err, "a context of 1000512 tokens") {
		t.Errorf("too deep: code %d, %s", r.code, r.err)
	}
}

func TestMeanSD(t *testing.T) {
	for _, tt := range []struct {
		x        []float64
		mean, sd float64
	}{{[]float64{3}, 3, 0}, {[]float64{1, 3}, 2, math.Sqrt2}, {[]float64{5, 5, 5}, 5, 0}} {
		// The mean is summed in parts, so it can be off by a rounding.
		if mean, sd := meanSD(tt.x); math.Abs(mean-tt.mean) > 1e-12 || math.Abs(sd-tt.sd) > 1e-12 {
			t.Errorf("meanSD(%g) = %g, %g; want %g, %g", tt.x, mean, sd, tt.mean, tt.sd)
		}
	}
}

// TestFaster: whoever asks for details of a CPU learns what makes it faster, where there is such a thing and it is not in use.
func TestFaster(t *testing.T) {
	before := linalg.Backend()
	defer func() {
		if err := linalg.SetBackend(before); err != nil {
			t.Error(err)
		}
	}()
	const line = "decodes faster on this CPU: -act q8, which rounds activations to bytes, as llama.cpp does\n"
	bench := []string{"bench", "-p", "0", "-n", "1", "-r", "1"}
	for _, c := range []struct {
		want bool
		args []string
	}{
		{linalg.HasInt8(), []string{"-p", "hello", "-n", "1", "-v"}},
		{linalg.HasInt8(), bench},
		{false, []string{"-p", "hello", "-n", "1"}},
		{false, []string{"-p", "hello", "-n", "1", "-v", "-simd", "go"}},
		{false, append(bench[:len(bench):len(bench)], "-simd", "go")},
	} {
		if r := mlarun("", append(c.args, "-model", youtu, "-device", "cpu")...); r.code != 0 || strings.Contains(r.err, line) != c.want {
			t.Errorf("%q: code %d, line %v, want %v: %s", c.args, r.code, !c.want, c.want, r.err)
		}
		if err := linalg.SetBackend(before); err != nil {
			t.Fatal(err)
		}
	}
	if !linalg.HasInt8() {
		return
	}
	if r := mlarun("", "-p", "hello", "-n", "1", "-v", "-act", "q8", "-model", youtu, "-device", "cpu"); r.code != 0 || strings.Contains(r.err, line) {
		t.Errorf("-act q8: code %d, %s", r.code, r.err)
	}
}
