// Package buildinfo identifies the build of a program.
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version and commit are set by release builds:
// -ldflags "-X mla/runtime/system/buildinfo.version=1.2.3 -X mla/runtime/system/buildinfo.commit=…".
var version, commit string

// Version is the version of a release. For other builds it is the module version that the go command
// recorded, or "(devel)".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(version, "(devel)")
	}
	return cmp.Or(version, info.Main.Version, "(devel)")
}

// Commit is the commit that the program was built from, with "+changes" if files differed from it; "":
// unknown.
func Commit() string {
	if commit != "" {
		return commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	id, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			id = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	if id == "" {
		return ""
	}
	return id + changed
}

// Line is the first line of a program's -version.
func Line(program string) string {
	return fmt.Sprintf("%s %s, commit %s, %s %s/%s", program, Version(), cmp.Or(Commit(), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
