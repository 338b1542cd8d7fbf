package chips

import (
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// Ask runs a program of the system, and returns what it prints.
type Ask func(program string, args ...string) string

// System asks the programs that there are; each has a few seconds.
func System(program string, args ...string) string {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

// Counting is the program of macOS that knows how many cores the GPU has, its arguments, and how it says so.
var (
	Counting = []string{"ioreg", "-r", "-d", "1", "-c", "IOAccelerator"}
	Counted  = regexp.MustCompile(`"gpu-core-count" = (\d+)`)
)

// mostCores is more than any GPU has.
const mostCores = 1 << 12

// Cores is how many cores a GPU has, as the system says; else as a full chip of its name has.
func Cores(gpu string, ask Ask) int {
	if found := Counted.FindStringSubmatch(ask(Counting[0], Counting[1:]...)); found != nil {
		if n, err := strconv.Atoi(found[1]); err == nil && n > 0 && n <= mostCores {
			return n
		}
	}
	return Of(gpu).Cores
}
