package engine

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Available is the memory in bytes that the program can use without swapping, page cache included; 0:
// unknown. It respects the limits of the program's control groups (containers, systemd scopes).
func Available() int64 { return availableIn("/") }

// availableIn is Available for a system whose files are under root.
func availableIn(root string) int64 {
	free := field(filepath.Join(root, "proc/meminfo"), "MemAvailable:") << 10
	for _, h := range hierarchies {
		for _, dir := range h.groups(root) {
			left, limited := h.left(dir)
			if limited && (free == 0 || left < free) {
				free = max(left, 1)
			}
		}
	}
	return free
}

// hierarchy is the file names of one version of control groups; see cgroups(7).
type hierarchy struct {
	controller          string // in /proc/self/cgroup
	mount               string
	limit, usage, cache string
}

var hierarchies = []hierarchy{
	{controller: "", mount: "sys/fs/cgroup", limit: "memory.max", usage: "memory.current", cache: "file"},
	{controller: "memory", mount: "sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", cache: "total_cache"},
}

// groups lists the folders of the program's control groups, from its own up to the root. Inside a container
// only the root may exist.
func (h *hierarchy) groups(root string) []string {
	mount := filepath.Join(root, h.mount)
	data, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return []string{mount}
	}
	var dirs []string
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:group
		if len(parts) < 3 || !slices.Contains(strings.Split(parts[1], ","), h.controller) {
			continue
		}
		for group := path.Clean("/" + parts[2]); group != "/"; group = path.Dir(group) {
			dirs = append(dirs, filepath.Join(mount, group))
		}
	}
	return append(dirs, mount)
}

// left is how much memory a group's limit, if it has one, leaves to the program.
func (h *hierarchy) left(dir string) (bytes int64, limited bool) {
	// The second version writes "max" where there is no limit, which is not a number.
	limit := number(filepath.Join(dir, h.limit))
	if limit <= 0 {
		return 0, false
	}
	// The system drops pages of files when memory runs short.
	return limit - number(filepath.Join(dir, h.usage)) + field(filepath.Join(dir, "memory.stat"), h.cache), true
}

// field is the number after a name at the beginning of a line; 0: there is none.
func field(path, name string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		words := bytes.Fields(line)
		if len(words) >= 2 && string(words[0]) == name {
			return parse(words[1])
		}
	}
	return 0
}

// number is the contents of a file with a single number; 0: it has no number.
func number(path string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return parse(bytes.TrimSpace(data))
}

func parse(b []byte) int64 {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
