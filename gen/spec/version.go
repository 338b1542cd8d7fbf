package spec

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// changes are, for each version of the format from 2 on, what to change in a file of the
// version before. A version is added when files that were right are not any more, or would
// mean something else. A file that names none is of version 1.
var changes []string

// removed are keys of tuning that specs had, and why they went. A file with one is told, and its version
// stays what it is: without the key it means what it meant.
var removed = map[string]string{
	"attend_rows": "attention of prompts cuts the cache, or expands heads",
	"last_blocks": "a dispatch of its own was as quick or quicker",
	"tails":       "a dispatch of its own was as quick or quicker",
	"matvec":      "kernels shapes each kernel by its name",
	"shares":      "how many share the pages of a head follows from its sizes",
}

// Version is the latest version of the format.
func Version() int { return len(changes) + 1 }

// versionField is the key version, at which checkVersion has looked.
func versionField() field {
	return field{key: "version", decode: func(*decoder, *yaml.Node, string) bool { return true }}
}

// checkVersion looks for a version before anything else: of a file of another one, other
// mistakes would tell nothing. It says whether to go on.
func (d *decoder) checkVersion(root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		return true
	}
	have, at := 1, root
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "version" {
			at = root.Content[i+1]
			if !integer("version", &have, 1, 1<<20).decode(d, at, "version") {
				return false
			}
		}
	}
	latest := Version()
	switch {
	case have > latest:
		d.errorf(at, "version is %d; this mlagen reads specs up to version %d: a newer mlagen wrote the file", have, latest)
	case have < latest:
		d.errorf(at, "%s", migration(have, latest))
	}
	return have == latest
}

// migration says how a file of an older version becomes one of the latest.
func migration(have, latest int) string {
	text := fmt.Sprintf("the file is of version %d of the format; this mlagen reads version %d. Change it like this:", have, latest)
	for v := have; v < latest; v++ {
		text += fmt.Sprintf("\n  from %d to %d: %s", v, v+1, changes[v-1])
	}
	return text + fmt.Sprintf("\nand set version: %d; mlagen init writes one anew from a GGUF file", latest)
}
