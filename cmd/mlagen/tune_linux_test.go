package main

import (
	"os"
	"strings"
	"testing"
)

// argsVariable holds arguments of mlagen, separated by tabs, with which the test binary runs mlagen. The drivers
// of the simulators read their configuration once per process, so tests need a process per configuration.
const argsVariable = "MLAGEN_TEST_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(argsVariable); args != "" {
		os.Exit(run(strings.Split(args, "\t"), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
