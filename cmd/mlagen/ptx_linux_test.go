package main

import (
	"testing"
)

func TestPTXUsage(t *testing.T) {
	for _, args := range [][]string{{"ptx"}, {"ptx", "-all", "-spec", tinySpec}, {"ptx", "-all", "more"}} {
		if code, _, stderr := mlagen(args...); code != exitUsage {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}
