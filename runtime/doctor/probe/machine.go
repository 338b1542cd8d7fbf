package probe

import (
	"regexp"
	"strings"

	"mla/runtime/device/chips"
	"mla/runtime/doctor/checkup"
)

// asked lists facts that programs of macOS print, each with the expression that finds it in the output.
var asked = []struct {
	fact    string
	program string
	args    []string
	find    *regexp.Regexp
}{
	{"GPU cores", chips.Counting[0], chips.Counting[1:], chips.Counted},
	{"iogpu.wired_limit_mb", "sysctl", []string{"-n", "iogpu.wired_limit_mb"}, regexp.MustCompile(`^\s*(\d+)\s*$`)},
	{"low-power mode", "pmset", []string{"-g"}, regexp.MustCompile(`(?m)^\s*lowpowermode\s+(\d)`)},
	{"power mode", "pmset", []string{"-g"}, regexp.MustCompile(`(?m)^\s*powermode\s+(\d)`)},
	{"power source", "pmset", []string{"-g", "batt"}, regexp.MustCompile(`Now drawing from '([^']+)'`)},
	{"thermal state", "pmset", []string{"-g", "therm"}, regexp.MustCompile(`(CPU_Speed_Limit\s*=\s*\d+|No thermal warning level has been recorded)`)},
	{"display", "ioreg", []string{"-r", "-d", "1", "-c", "IODisplayWrangler"}, regexp.MustCompile(`"CurrentPowerState"=(\d+)`)},
}

// Machine returns what a Mac reports of its GPU's cores, limits and power. A fact that this version of macOS
// does not print is "unknown".
func Machine(ask chips.Ask) (facts []checkup.Row) {
	for _, a := range asked {
		text := "unknown"
		if found := a.find.FindStringSubmatch(ask(a.program, a.args...)); found != nil {
			text = strings.Join(strings.Fields(found[1]), " ")
		}
		facts = append(facts, checkup.Row{Kind: checkup.Fact, Name: a.fact, Text: text})
	}
	return facts
}
