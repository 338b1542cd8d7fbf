package checkup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mla/runtime/system/child"
)

// broken is a stage in which everything fails, at length.
func broken(name string, text string) *Result {
	r := &Result{Stage: name, Used: map[string]string{}, Outcome: child.Outcome{End: child.Crashed, Reason: text, Said: strings.Repeat(text+"\n", 50), Elapsed: time.Second}}
	for i := range 300 {
		for _, kind := range []Kind{Fact, Fail, Skip, Note} {
			r.take(Row{kind, fmt.Sprintf("%s %d", name, i), text})
		}
	}
	r.close(func(Row) {})
	return r
}

// TestReportSize checks that the report is small and names every stage, for any failures and for errors of
// any length.
func TestReportSize(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("long ", 2000), strings.Repeat("é|`<\n", 3000), "```\n```", strings.Repeat("\xff", 5000)} {
		for _, stages := range []int{1, 3, 12} {
			r := &Report{Title: "a report", Facts: []Row{{Fact, "program", text}}}
			for i := range stages {
				r.Results = append(r.Results, broken(fmt.Sprintf("stage %d", i), text))
			}
			got := r.Markdown()
			if len(got) > MostBytes || !utf8.ValidString(got) {
				t.Errorf("%.10q, %d stages: %d bytes, valid %t", text, stages, len(got), utf8.ValidString(got))
			}
			for i := range stages {
				if !strings.Contains(got, fmt.Sprintf("| stage %d | CRASHED | 0 | 1.0 s |", i)) {
					t.Errorf("%.10q: stage %d is not named", text, i)
				}
			}
			if fences := strings.Count(got, "```"); fences != 2*strings.Count(got, "\n## Failed: ") || stages <= 3 && fences != 2*stages {
				t.Errorf("%.10q, %d stages: %d fences", text, stages, fences)
			}
			if want := fmt.Sprintf("Result: %d FAILED", 301*stages); !strings.Contains(got, want) {
				t.Errorf("no %q", want)
			}
		}
	}
}

// TestReport has a stage of every result.
func TestReport(t *testing.T) {
	ok := &Result{Stage: "first", Facts: []Row{{Fact, "GPU", "Apple M1"}}, Passed: 7, Outcome: child.Outcome{End: child.Done}}
	skipped := &Result{Stage: "second", Skipped: []Row{{Skip, "sets", "needs macOS 15"}}, Outcome: child.Outcome{End: child.Done}}
	failed := &Result{Stage: "third", Facts: []Row{{Fact, "speed", "5 tok/s"}}, Failed: []Row{{Fail, "attend", "number 3"}}, failures: 1, ended: true, Outcome: child.Outcome{End: child.Failed, Said: "noise"}}
	half := &Result{Stage: "half", Passed: 3, Outcome: child.Outcome{End: child.Done}}
	half.take(Row{Part, "5 of 9 launches", "4 of 9 launches of kernels"})
	if got := (&Report{Results: []*Result{ok, skipped, half}}).Markdown(); !strings.Contains(got, "Result: ok, but not checked: second, 4 of 9 launches of kernels\n") || !strings.Contains(got, "| half | ok for 5 of 9 launches | 3 |") {
		t.Error(got)
	}
	r := &Report{Title: "t", Results: []*Result{ok, skipped, failed, {Stage: "fourth", NotRun: "interrupted"}}, Running: "fifth"}
	got := r.Markdown()
	for _, want := range []string{"at the stage **fifth**", "| GPU | Apple M1 |", "| first | ok | 7 |", "| second | not checked: needs macOS 15 |", "* sets: needs macOS 15", "| third | 1 FAILED |", "| third: speed | 5 tok/s |", "attend: number 3", "| fourth | not run: interrupted |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(got, "noise") || t.Failed() {
		t.Error(got)
	}
}

// TestClose makes failures of the ways in which a process can end.
func TestClose(t *testing.T) {
	for _, tt := range []struct {
		end      child.End
		rows     []Kind
		failures int
		status   string
	}{
		{child.Done, []Kind{Pass, End}, 0, "ok"},
		{child.Done, []Kind{Skip, End}, 0, "not checked: there was nothing to check"},
		{child.Done, []Kind{Fact, Note, End}, 0, "not checked: there was nothing to check"},
		{child.Done, []Kind{Pass}, 1, "1 FAILED"},
		{child.Failed, []Kind{Fail, End}, 1, "1 FAILED"},
		{child.Failed, nil, 1, "1 FAILED"},
		{child.Failed, []Kind{Fail}, 2, "2 FAILED"},
		{child.Crashed, []Kind{Pass, End}, 1, "CRASHED"},
		{child.Hung, nil, 1, "HUNG"},
		{child.Missing, nil, 1, "NOT STARTED"},
		{child.Stopped, []Kind{Pass}, 0, "not run: interrupted"},
	} {
		r := &Result{Stage: "s", Used: map[string]string{}, Outcome: child.Outcome{End: tt.end, Reason: "why"}}
		for _, k := range tt.rows {
			r.take(Row{Kind: k})
		}
		r.take(Row{Kind: Now, Name: "last"})
		r.close(func(row Row) {
			if row.Kind != Fail || row.Name != "last" {
				t.Errorf("%s: %+v", tt.end, row)
			}
		})
		if r.Failures() != tt.failures || r.Status() != tt.status {
			t.Errorf("%s, %v: %d failures, %q; expected %d, %q", tt.end, tt.rows, r.Failures(), r.Status(), tt.failures, tt.status)
		}
	}
}

// TestSaid keeps of a traceback what a reader needs.
func TestSaid(t *testing.T) {
	r := &Result{Outcome: child.Outcome{Said: "SIGSEGV: segmentation violation\nPC=0x7f m=0\n\ngoroutine 1 gp=0x2 m=0 mp=0x17 [syscall]:\nmtl.Command.SetPipeline(0x1, {0x2, 0x3})\n\t/src/indirect.go:37 +0x1b fp=0x1 sp=0x2 pc=0x3\nmain.main()\n\t/src/main.go:9\n\ngoroutine 2 [idle]:\nother()\n\nrax 0x1\n"}}
	const want = "SIGSEGV: segmentation violation\nPC=0x7f m=0\n\ngoroutine 1 [syscall]:\nmtl.Command.SetPipeline(…)\n\t/src/indirect.go:37\nmain.main()\n\t/src/main.go:9"
	if got := r.Said(); got != want {
		t.Errorf("%q\nexpected\n%q", got, want)
	}
}

// TestRows go through a writer and back.
func TestRows(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Write(Fact, "a\n\"b", "%d é", 1)
	w.Write(Fail, "c", "d")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || parse([]byte(lines[0])) != (Row{Fact, "a\n\"b", "1 é"}) || parse([]byte(lines[1])) != (Row{Fail, "c", "d"}) || w.Failed() != 1 || w.Err() != nil {
		t.Errorf("%q", lines)
	}
	for _, text := range []string{"[driver] hello", "{}", `{"kind":`, "7"} {
		if r := parse([]byte(text)); r != (Row{Kind: Note, Text: text}) {
			t.Errorf("%q is %+v", text, r)
		}
	}
}

// TestWriteFile replaces a file, and leaves nothing where it cannot.
func TestWriteFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "r.md")
	for _, title := range []string{"one", "two"} {
		if err := (&Report{Title: title}).WriteFile(path); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "# "+title) {
			t.Errorf("%q, %v", text, err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (&Report{}).WriteFile(filepath.Join(folder, "d")); err == nil {
		t.Error("a folder was replaced")
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}
