package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestProgress checks the output of a run: its progress, the remaining time, and the output of failed tests.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, []string{"a", "b", "c"}, map[string]float64{"a": 60, "b": 20, "c": 10})
	p.began = time.Unix(0, 0)
	lines := `{"Action":"output","Package":"a","Test":"TestGood","Output":"chatter\n"}
{"Action":"pass","Package":"a","Test":"TestGood"}
{"Action":"pass","Package":"a","Elapsed":30}
{"Action":"output","Package":"b","Test":"TestBad/x","Output":"x is 3\n"}
{"Action":"fail","Package":"b","Test":"TestBad/x"}
{"Action":"fail","Package":"b","Test":"TestBad"}
{"Action":"output","Package":"b","Test":"TestHangs","Output":"still here\n"}
{"Action":"output","Package":"b","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"b","Elapsed":2}
{"Action":"build-output","ImportPath":"c [c.test]","Output":"c_test.go:1: undefined: f\n"}
{"Action":"fail","Package":"c","FailedBuild":"c [c.test]"}
no event
`
	if err := readEvents(strings.NewReader(lines), p); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"[1/3] ok   a", "[2/3] FAIL b", "[3/3] FAIL c", "x is 3\n", "still here\n", "panic: test timed out\n", "c_test.go:1: undefined: f\n", "no event\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "chatter") {
		t.Errorf("a test that passed is heard:\n%s", text)
	}
	if want := []string{"b", "c"}; !reflect.DeepEqual(p.failed, want) || p.ended != 3 || p.tests != 2 {
		t.Errorf("%v failed, %d ended, %d tests", p.failed, p.ended, p.tests)
	}
}

// TestLeft: the time left follows from recorded times and from how fast this machine is.
func TestLeft(t *testing.T) {
	p := newProgress(new(bytes.Buffer), []string{"a", "b", "new"}, map[string]float64{"a": 60, "b": 20})
	p.began = time.Unix(0, 0)
	p.take(event{Action: "pass", Package: "a", Elapsed: 100}, time.Unix(120, 0))
	// The remaining time is 20 s of b and 10 s for a package without a recorded time. This machine takes twice as long.
	if got := p.leftText(time.Unix(120, 0)); got != "  about 1m0s left" {
		t.Errorf("%q", got)
	}
}

func TestOrder(t *testing.T) {
	packages := []string{"fast", "new", "slow", "other"}
	order(packages, map[string]float64{"fast": 1, "slow": 99, "other": 5})
	if want := []string{"slow", "new", "other", "fast"}; !reflect.DeepEqual(packages, want) {
		t.Errorf("%v; want %v", packages, want)
	}
}

// TestRunnable checks that the packages which a Mac cannot run are reported, once per reason.
func TestRunnable(t *testing.T) {
	packages := []string{"mla/gen/ir", "mla/gen/ptx", "mla/runtime/device/metal", "mla/runtime/device/metal/trust", "mla/sim/metal"}
	if can, elsewhere := runnable(packages, "linux"); len(can) != len(packages) || elsewhere != nil {
		t.Errorf("Linux: %v, %v", can, elsewhere)
	}
	can, elsewhere := runnable(packages, "darwin")
	if want := []string{"mla/gen/ir"}; !reflect.DeepEqual(can, want) {
		t.Errorf("a Mac: %v; want %v", can, want)
	}
	if len(elsewhere) != 3 || !strings.Contains(elsewhere[1], "(2 packages)") {
		t.Errorf("a Mac: %q", elsewhere)
	}
}

func TestTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "times.txt")
	fast, deep := map[string]float64{"b": 2, "a": 1.5}, map[string]float64{"a": 100}
	for tier, seconds := range map[string]map[string]float64{"fast": fast, "deep": deep} {
		if err := writeTimes(path, tier, seconds); err != nil {
			t.Fatal(err)
		}
	}
	for tier, want := range map[string]map[string]float64{"fast": fast, "deep": deep, "race": {}} {
		if got, err := readTimes(path, tier); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v", tier, got, err, want)
		}
	}
	for _, bad := range []string{"fast a", "fast a b c", "fast a -1", "fast a NaN", "fast a x"} {
		if err := os.WriteFile(path, []byte("# title\n"+bad+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readTimes(path, "fast"); err == nil || !strings.Contains(err.Error(), "times.txt:2: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestPrintDeep: the deep tier's tests are listed by file.
func TestPrintDeep(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a_test.go":      "package a\n\nfunc TestFast(t *testing.T) {\n\tfor deep.On {\n\t}\n}\n",
		"a_deep_test.go": "//go:build linux && deep\n\npackage a\n\nfunc TestSlow(t *testing.T) {}\n\nfunc FuzzSlow(f *testing.F) {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := printDeep(&out, dir); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a_deep_test.go: TestSlow FuzzSlow\n", "a_test.go:4: more examples\n", "\n2 tests, and more examples at 1 places; make prove runs them\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
}
