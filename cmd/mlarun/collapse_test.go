package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"mla/runtime/doctor/checkup"
)

// TestCollapse: of many checks in a row that passed only the number is printed, and what
// did not pass comes in its place.
func TestCollapse(t *testing.T) {
	pass, fail := checkup.Row{Kind: checkup.Pass, Name: "p"}, checkup.Row{Kind: checkup.Fail, Name: "f"}
	for _, tt := range []struct {
		rows string // p: passed, f: failed, n: what is tried next
		all  bool
		want string
	}{
		{"ppp", false, "p p p"},
		{"pppp", false, "4 checks passed, p to p; -v lists them"},
		{"pppp", true, "p p p p"},
		{"npnpnpnpf", false, "4 checks passed, p to p; -v lists them f"},
		{"ppfppppp", false, "p p f 5 checks passed, p to p; -v lists them"},
	} {
		var got []string
		c := collapser{all: tt.all, print: func(r checkup.Row) {
			if r.Kind != checkup.Now {
				got = append(got, r.Name+r.Text)
			}
		}}
		for _, r := range tt.rows {
			c.row(map[rune]checkup.Row{'p': pass, 'f': fail, 'n': {Kind: checkup.Now}}[r])
		}
		c.flush()
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: %q; want %q", tt.rows, text, tt.want)
		}
	}
}

// TestDoctorIsShort: what the doctor prints fits into an issue.
func TestDoctorIsShort(t *testing.T) {
	r := mlarun("", "doctor", "-device", "cpu", "-n", "0", "-model", glm)
	if r.code != 0 || len(r.out) > 2000 || !regexp.MustCompile(`\d\d checks passed, \w+ to \w+; -v lists them`).MatchString(r.out) {
		t.Errorf("code %d, %d bytes\n%s", r.code, len(r.out), r.out)
	}
}

// TestDevices lists what there is, and why the rest is not.
func TestDevices(t *testing.T) {
	r := mlarun("", "devices", "-cuda-lib", "/nonexistent", "-metal-lib", "/nonexistent")
	if r.code != 0 || !strings.Contains(r.out, "-device cpu (what -device auto takes)\n  cores ") || !strings.Contains(r.out, "-device cuda: not here: ") || !strings.Contains(r.out, "-device metal: not here: ") {
		t.Errorf("code %d\n%s%s", r.code, r.out, r.err)
	}
	var list []foundDevice
	r = mlarun("", "devices", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || len(list) != len(deviceKinds) || !list[0].Auto || list[0].Facts["inner loops"] == "" {
		t.Errorf("code %d, %v\n%s", r.code, err, r.out)
	}
	if r := mlarun("", "devices", "-o", "xml"); r.code != 2 {
		t.Errorf("code %d", r.code)
	}
}
