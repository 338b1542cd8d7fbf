package ptx

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mla/runtime/plan/ptxfile"
)

// entryMark begins a kernel in clang's output; a line with only a brace ends it.
const entryMark = ".visible .entry "

// array matches a declaration of threadgroup memory with its size.
var array = regexp.MustCompile(`(?m)^[ \t]*(?:\.\w+ )?\.shared \.align (\d+) \.b8 ([\w$]+)\[(\d+)\];\n`)

// dynamic turns threadgroup memory beyond what PTX may declare with a size (ptxfile.StaticBytes) into dynamic
// shared memory, which the launch allocates: an array without a size, and above it a line with the bytes that
// the runtime must request (ptxfile.DynamicLine). Other kernels stay byte by byte the same. Clang gets the
// size in the source, so that it can tell that accesses do not overlap.
func dynamic(text string) (string, error) {
	var out strings.Builder
	for {
		at := strings.Index(text, entryMark)
		if at < 0 {
			return out.String() + text, outside(text)
		}
		if err := outside(text[:at]); err != nil {
			return "", err
		}
		out.WriteString(text[:at])
		text = text[at:]
		end := strings.Index(text, "\n}\n")
		if end < 0 {
			return "", fmt.Errorf("PTX: an entry does not end: %.80q", text)
		}
		end += len("\n}\n")
		entry, err := dynamicEntry(text[:end])
		if err != nil {
			return "", err
		}
		out.WriteString(entry)
		text = text[end:]
	}
}

// dynamicEntry is dynamic for one kernel.
func dynamicEntry(text string) (string, error) {
	arrays, total := array.FindAllStringSubmatchIndex(text, -1), 0
	for _, m := range arrays {
		n, err := strconv.Atoi(text[m[6]:m[7]])
		if err != nil {
			return "", fmt.Errorf("PTX: %s", strings.TrimSpace(text[m[0]:m[1]]))
		}
		total += n
	}
	if total <= ptxfile.StaticBytes {
		return text, nil
	}
	if len(arrays) != 1 { // all dynamic arrays begin at the same address
		return "", fmt.Errorf("PTX: %.80q has %d arrays of threadgroup memory, %d bytes together; expected one", text, len(arrays), total)
	}
	m := arrays[0]
	return fmt.Sprintf("%s.extern .shared .align %s .b8 %s[];\n%s%s", ptxfile.DynamicLine(total),
		text[m[2]:m[3]], text[m[4]:m[5]], text[:m[0]], text[m[1]:]), nil
}

// outside refuses large arrays outside kernels, where clang puts an array that several kernels use. It would
// be unknown which kernels need it.
func outside(text string) error {
	for _, m := range array.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[3]); err != nil || n > ptxfile.StaticBytes {
			return fmt.Errorf("PTX: %s is outside of a kernel", strings.TrimSpace(m[0]))
		}
	}
	return nil
}

// firstEntry returns where the first kernel of a text begins, with its DynamicLine; -1 if there is none.
func firstEntry(text string) int {
	at := strings.Index(text, entryMark)
	if at < 0 {
		return at
	}
	if mark := strings.Index(text[:at], ptxfile.DynamicMark); mark >= 0 {
		return mark
	}
	return at
}
