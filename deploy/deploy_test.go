// Package deploy_test reads the units of services beside it.
package deploy_test

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// program is what a unit starts, and its arguments.
type program struct {
	unit string
	args []string
}

// element is a piece of a property list.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Elements []element `xml:",any"`
}

// get is the value of a key of a dictionary; without one it is empty.
func (e element) get(key string) element {
	for i := 0; i+1 < len(e.Elements); i += 2 {
		if e.Elements[i].XMLName.Local == "key" && e.Elements[i].Text == key {
			return e.Elements[i+1]
		}
	}
	return element{}
}

// launchd is what a property list starts.
func launchd(t *testing.T, path string) program {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list element
	if err := xml.Unmarshal(text, &list); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if list.XMLName.Local != "plist" || len(list.Elements) != 1 || list.Elements[0].XMLName.Local != "dict" {
		t.Fatalf("%s is no property list of a dictionary", path)
	}
	dict := list.Elements[0]
	if label := dict.get("Label").Text; label+".plist" != filepath.Base(path) {
		t.Errorf("%s has the label %q", path, label)
	}
	if log := dict.get("StandardErrorPath").Text; strings.HasPrefix(log, "/tmp/") {
		t.Errorf("%s: nobody keeps %s short", path, log)
	}
	p := program{unit: path}
	for _, arg := range dict.get("ProgramArguments").Elements {
		p.args = append(p.args, arg.Text)
	}
	return p
}

// systemd is what a unit of systemd starts.
func systemd(t *testing.T, path string) program {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(lines) != 1 {
		t.Fatalf("%s starts %d programs", path, len(lines))
	}
	return program{path, strings.Fields(lines[0][1])}
}

// files are those that a pattern names.
func files(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) < 2 {
		t.Fatalf("%s: %q, %v", pattern, list, err)
	}
	return list
}

// flagsOf are the flags that mlarun lists for a command.
func flagsOf(t *testing.T, mlarun, command string) (names []string) {
	t.Helper()
	help, err := exec.Command(mlarun, command, "-h").CombinedOutput()
	if err != nil {
		t.Fatalf("mlarun %s -h: %v\n%s", command, err, help)
	}
	for _, line := range regexp.MustCompile(`(?m)^  -.*$`).FindAllString(string(help), -1) {
		names = append(names, regexp.MustCompile(`-[a-z0-9-]+\b`).FindAllString(line, -1)...)
	}
	return names
}

// TestUnits: all units of a kind are read, and what they start has the flags that they give it.
func TestUnits(t *testing.T) {
	mlarun := filepath.Join(t.TempDir(), "mlarun")
	if out, err := exec.Command("go", "build", "-o", mlarun, "../cmd/mlarun").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	known := map[string][]string{"serve": flagsOf(t, mlarun, "serve"), "worker": flagsOf(t, mlarun, "worker")}
	var programs []program
	for _, path := range files(t, "launchd/*") {
		programs = append(programs, launchd(t, path))
	}
	for _, path := range files(t, "systemd/*") {
		programs = append(programs, systemd(t, path))
	}
	for _, p := range programs {
		switch {
		case len(p.args) == 3 && p.args[0] == "/bin/sh" && p.args[1] == "-c": // TestLogs runs it
		case len(p.args) < 2 || p.args[0] != "/usr/local/bin/mlarun" || known[p.args[1]] == nil:
			t.Errorf("%s starts %q", p.unit, p.args)
		default:
			for _, arg := range p.args[2:] {
				if strings.HasPrefix(arg, "-") && !slices.Contains(known[p.args[1]], arg) {
					t.Errorf("%s: mlarun %s has no flag %s", p.unit, p.args[1], arg)
				}
			}
		}
	}
}

// TestLogs: a long log is made empty under the program that writes it, and its text is kept; a
// short one is left alone.
func TestLogs(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, "Library/Logs/mlarun")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	long, short := filepath.Join(folder, "serve.log"), filepath.Join(folder, "worker.log")
	old := strings.Repeat("a line\n", 11<<20/7)
	for path, text := range map[string]string{long: old, short: "short\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.OpenFile(long, os.O_APPEND|os.O_WRONLY, 0) // as launchd opens it
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	args := launchd(t, "launchd/mlarun.logs.plist").args
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), "HOME="+home)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := log.WriteString("new\n"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{long: "new\n", long + ".1": old, short: "short\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s has %d bytes; expected %d; %v", path, len(got), len(want), err)
		}
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) != 3 {
		t.Errorf("%v, %v", list, err)
	}
}
