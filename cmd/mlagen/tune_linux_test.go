package main

import (
	"os"
	"strings"
	"testing"
)

// The stand-ins for the drivers read their configuration once per process. So the
// test binary is mlagen where argsVariable has its arguments, separated by tabs.
const argsVariable = "MLAGEN_TEST_ARGS"

func TestMain(m *testing.M) {
	if args := os.Getenv(argsVariable); args != "" {
		os.Exit(run(strings.Split(args, "\t"), os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
