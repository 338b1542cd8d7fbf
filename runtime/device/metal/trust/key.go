package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File identifies a file by its absolute path, size and time; it is "" for "".
func File(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	info, err := os.Stat(path)
	if err != nil {
		return path + ", missing"
	}
	return fmt.Sprintf("%s, %d bytes, %s", path, info.Size(), info.ModTime().UTC().Format("2006-01-02T15:04:05.999999999Z"))
}

// prefixes are the beginnings of the names of variables that change how Metal behaves: validation layers
// (MTL_DEBUG_LAYER, METAL_DEVICE_WRAPPER_TYPE …), preloaded libraries, and the faults of a simulator
// (METALSIM_FAULT …).
var prefixes = []string{"MTL", "METAL", "DYLD_", "LD_"}

// Settings lists the variables of an environment that Metal may read, sorted.
func Settings(environment []string) string {
	var list []string
	for _, v := range environment {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(v, p) }) {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}
