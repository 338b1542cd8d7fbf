package ptxfile

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// StaticBytes is the most threadgroup memory that a kernel's PTX may declare with its size.
	// More is an array whose size a launch says: a line above it tells the runtime.
	StaticBytes = 48 << 10
	// maxDynamic bounds what such a line may ask for: no GPU has so much.
	maxDynamic = 1 << 24
	// DynamicMark begins the line.
	DynamicMark = "// dynamic threadgroup memory: "
)

// DynamicLine is the line above a kernel that needs a given number of bytes of threadgroup memory.
// After it come the array, a line that begins with .extern .shared, and the entry.
func DynamicLine(bytes int) string { return DynamicMark + strconv.Itoa(bytes) + "\n" }

// Dynamic reads a DynamicLine; 0: it is another line.
func Dynamic(line string) (bytes int, err error) {
	digits, is := strings.CutPrefix(line, DynamicMark)
	if !is {
		return 0, nil
	}
	bytes, err = strconv.Atoi(strings.TrimSpace(digits))
	if err != nil || bytes <= 0 || bytes > maxDynamic {
		return 0, fmt.Errorf("%q bytes of dynamic threadgroup memory; expected 1 to %d", strings.TrimSpace(digits), maxDynamic)
	}
	return bytes, nil
}
