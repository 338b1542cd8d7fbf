package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestKernelFormats(t *testing.T) {
	list := []stageSpeed{
		{Depth: 0, Width: 1, Functions: "a", Count: 2, Micros: 1.5, Bytes: 3_000_000, GBs: 2000, Fraction: 0.5},
		{Act: "f16", setup: setup{Model: "m.gguf"}, Depth: 0, Width: 1, Functions: "b + c", Count: 1, Micros: 2, Bytes: 4_000_000, GBs: 2000, Fraction: 0.5},
		{Depth: 8, Width: 512, Functions: "a", Count: 2, Micros: 1, Bytes: 1000, GBs: 1, Fraction: 0.25, TFlops: 12.5},
	}
	var md, csv, js strings.Builder
	for format, w := range map[string]*strings.Builder{"md": &md, "csv": &csv, "json": &js} {
		if err := kernelFormats[format](w, "setup", list); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
	const want = `setup

depth 0, width 1

| kernels | per step | µs | MB | GB/s | of a copy | TFLOP/s |
|---|---:|---:|---:|---:|---:|---:|
| a | 2 | 1.50 | 3.000 | 2000 | 50.0 % | 0.0 |
| b + c | 1 | 2.00 | 4.000 | 2000 | 50.0 % | 0.0 |
| a step | 3 | 5.00 | 10.000 | 2000 | | |

depth 8, width 512

| kernels | per step | µs | MB | GB/s | of a copy | TFLOP/s |
|---|---:|---:|---:|---:|---:|---:|
| a | 2 | 1.00 | 0.001 | 1 | 25.0 % | 12.5 |
| a step | 2 | 2.00 | 0.002 | 1 | | |
`
	if md.String() != want {
		t.Errorf("md\n%s\nwant\n%s", md.String(), want)
	}
	if lines := strings.Split(csv.String(), "\n"); !strings.HasPrefix(lines[0], "act,depth,width,functions,count,us,bytes,gb_s,fraction,tflop_s,model,") || !strings.HasPrefix(lines[2], "f16,0,1,b + c,1,2,4000000,2000,0.5,0,m.gguf,0,") {
		t.Errorf("csv\n%s", csv.String())
	}
	var back []stageSpeed
	if err := json.Unmarshal([]byte(js.String()), &back); err != nil || len(back) != 3 || back[1] != list[1] {
		t.Errorf("json %v, %v", back, err)
	}
}

func TestKernelsNeedADevice(t *testing.T) {
	if r := mlarun("", "bench", "-kernels", "-model", glm, "-device", "cpu", "-quiet"); r.code != 1 || !strings.Contains(r.err, "cannot measure single kernels") {
		t.Errorf("code %d, %s", r.code, r.err)
	}
}
