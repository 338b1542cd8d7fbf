//go:build deep

package metal_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestArchive checks runners that keep archives of pipelines, also if an archive is damaged or cannot be
// written.
func TestArchive(t *testing.T) {
	lib := library(t)
	for _, tt := range []struct{ run, fault string }{
		{"archive", ""}, {"archives", ""}, {"archive, no token", ""}, {"archive, slow", "archive-slow"}, {"archive, given up", "archive-slow"},
		{"archive, nowhere", ""}, {"archive, remains", ""}, {"archive, new folder", ""},
		{"archive, failure", "archive:1"},  // a new archive
		{"archive, failure", "archive:2"},  // the first kernel
		{"archive, failure", "archive:5"},  // another one
		{"archive, failure", "archive:13"}, // the file, half of which is there
	} {
		t.Run(tt.run+" "+tt.fault, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), caseVariable+"="+tt.run+"|"+lib, "METALSIM_STRICT=1", "METALSIM_KERNELS=fast", "METALSIM_FAULT="+tt.fault)
			out, err := cmd.CombinedOutput()
			if err != nil || bytes.Contains(out, []byte("[metalsim]")) {
				t.Fatalf("%v\n%s", err, head(out))
			}
		})
	}
}
