package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
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

// TestLeft checks that the remaining time follows from recorded times and from how fast this machine is.
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

// TestDeepTests checks that deepTests finds every test that the tag deep changes, directly or through other
// declarations, and no other test.
func TestDeepTests(t *testing.T) {
	const asks = "func examples() int {\n\tif deep.On {\n\t\treturn 9\n\t}\n\treturn 1\n}\n"
	for _, tt := range []struct {
		name, plain, tagged, want string
	}{
		{"a file with the tag", "func TestFast(t *testing.T) {}", "func TestSlow(t *testing.T) {}\nfunc FuzzSlow(f *testing.F) {}", "TestSlow FuzzSlow"},
		{"asks itself", "func TestMore(t *testing.T) {\n\tfor deep.On {\n\t}\n}\nfunc TestFast(t *testing.T) {}", "", "TestMore"},
		{"calls what asks", asks + "func run() { examples() }\nfunc TestMore(t *testing.T) { run() }\nfunc TestFast(t *testing.T) {}", "", "TestMore"},
		{"a method that asks", "type rig struct{}\nfunc (rig) run() { _ = deep.On }\nfunc TestMore(t *testing.T) { rig{}.run() }\nfunc TestFast(t *testing.T) {}", "", "TestMore"},
		{"a value", "var count = map[bool]int{true: 9}[deep.On]\nfunc TestMore(t *testing.T) { _ = count }\nfunc TestFast(t *testing.T) {}", "", "TestMore"},
		{"a list that is longer", "var list, other []int\nfunc TestMore(t *testing.T) { _ = list }\nfunc TestFast(t *testing.T) { _ = other }", "func init() { list = append(list, 9) }", "TestMore"},
		{"a case", "var cases map[string]int\nfunc TestMain(m *testing.M) { _ = cases }\nfunc TestFast(t *testing.T) {}", "func init() { cases[\"x\"] = 9 }", ""},
		{"the main function", "func TestMore(t *testing.T) {}", "func TestMain(m *testing.M) {}", "TestMore"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"a_test.go":      "package a\n\n" + tt.plain + "\n",
			"a_deep_test.go": "// Words.\n\n//go:build linux && deep\n\npackage a\n\n" + tt.tagged + "\n",
			"b_test.go":      "//go:build linux\n\npackage a\n\nfunc TestOther(t *testing.T) {}\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := tt.want
		if tt.name == "the main function" {
			want += " TestOther"
		}
		got, err := deepTests(dir)
		if err != nil || !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(strings.Fields(want)))) {
			t.Errorf("%s: %q, %v; want %s", tt.name, got, err, want)
		}
		packages, pattern, err := deepPackages(map[string]string{"mla/a": dir})
		if err != nil || len(packages) != min(1, len(got)) || regexp.MustCompile(pattern).MatchString("TestFast") {
			t.Errorf("%s: %q %s, %v", tt.name, packages, pattern, err)
		}
	}
}
