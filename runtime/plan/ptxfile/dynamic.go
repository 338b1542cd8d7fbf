package ptxfile

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// StaticBytes is the most threadgroup memory that a kernel's PTX may declare with a fixed size. A kernel
	// with more declares an array without a size; the launch sets the size, which a line above the kernel
	// tells the runtime.
	StaticBytes = 48 << 10
	// maxDynamic is more than any GPU has.
	maxDynamic = 1 << 24
	// DynamicMark is the beginning of this line.
	DynamicMark = "// dynamic threadgroup memory: "
)

// DynamicLine is the line above a kernel that needs a number of bytes of threadgroup memory. It is followed
// by the array, a line that begins with .extern .shared, and by the entry.
func DynamicLine(bytes int) string { return DynamicMark + strconv.Itoa(bytes) + "\n" }

// Dynamic parses a DynamicLine; 0: the line is another one.
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
