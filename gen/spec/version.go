package spec

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// changes says for each version of the format from 2 on how to change a file of the version before. A new
// version is needed when old files become invalid or change their meaning. A file without the key version is
// of version 1.
var changes []string

// removed has the keys of tuning that an earlier format had, and why each was removed. A file with such a key
// gets a message. No new version is needed: without the key the file means the same.
var removed = map[string]string{
	"attend_rows": "attention of prompts cuts the cache, or expands heads",
	"last_blocks": "a dispatch of its own was as quick or quicker",
	"tails":       "a dispatch of its own was as quick or quicker",
	"matvec":      "kernels shapes each kernel by its name",
	"shares":      "how many share the pages of a head follows from its sizes",
}

// Version is the latest version of the format.
func Version() int { return len(changes) + 1 }

// versionField is the key version. checkVersion has already checked its value.
func versionField() field {
	return field{key: "version", decode: func(*decoder, *yaml.Node, string) bool { return true }}
}

// checkVersion checks the version before anything else, because the other mistakes in a file of another
// version would mislead. It reports whether to continue.
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

// migration says how to update a file of an older version.
func migration(have, latest int) string {
	text := fmt.Sprintf("the file is of version %d of the format; this mlagen reads version %d. Change it like this:", have, latest)
	for v := have; v < latest; v++ {
		text += fmt.Sprintf("\n  from %d to %d: %s", v, v+1, changes[v-1])
	}
	return text + fmt.Sprintf("\nand set version: %d; mlagen init writes one anew from a GGUF file", latest)
}
