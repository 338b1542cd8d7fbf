package main

import (
	"os"
	"strings"
	"testing"
)

// argsVariable makes the test binary run as mlagen, with the arguments in this variable, separated by tabs.
// Each run is a process of its own, because the driver simulators read their configuration once per process.
const argsVariable = "MLAGEN_TEST_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(argsVariable); args != "" {
		os.Exit(run(strings.Split(args, "\t"), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
