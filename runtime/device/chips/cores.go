package chips

import (
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// Ask runs a program of the system and returns its output.
type Ask func(program string, args ...string) string

// System is Ask for the real programs, with a time limit of a few seconds.
func System(program string, args ...string) string {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// How to ask macOS for the number of GPU cores: the program, its arguments, and the line of the answer.
var (
	Counting = []string{"ioreg", "-r", "-d", "1", "-c", "IOAccelerator"}
	Counted  = regexp.MustCompile(`"gpu-core-count" = (\d+)`)
)

// mostCores is more cores than any GPU has.
const mostCores = 1 << 12

// Cores is how many cores a GPU has according to the system; if the system does not say, those of the full
// chip of its name.
func Cores(gpu string, ask Ask) int {
	if found := Counted.FindStringSubmatch(ask(Counting[0], Counting[1:]...)); found != nil {
		if n, err := strconv.Atoi(found[1]); err == nil && n > 0 && n <= mostCores {
			return n
		}
	}
	return Of(gpu).Cores
}
