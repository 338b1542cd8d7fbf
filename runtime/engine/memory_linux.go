package engine

import (
	"bytes"
	"os"
	"strconv"
)

// available is the memory in bytes that a program can use without swapping,
// page cache included; 0 if it is not known. A container's limit counts.
func available() int64 {
	free := field("/proc/meminfo", "MemAvailable:") << 10
	const group = "/sys/fs/cgroup/"
	// Without a limit the file says "max", which is no number.
	limit := number(group + "memory.max")
	if limit <= 0 {
		return free
	}
	// Pages of files are given back when memory runs short.
	left := limit - number(group+"memory.current") + field(group+"memory.stat", "file")
	if free == 0 {
		return max(left, 1)
	}
	return min(free, max(left, 1))
}

// field is the number after a name at the start of a line; 0 if there is none.
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

// number is the content of a file that holds one number; 0 if it does not.
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
