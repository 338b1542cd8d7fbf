package ptx

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mla/runtime/plan/ptxfile"
)

// entryMark begins a kernel in what clang writes; a brace alone ends it.
const entryMark = ".visible .entry "

// array is a declaration of threadgroup memory with its size.
var array = regexp.MustCompile(`(?m)^[ \t]*(?:\.\w+ )?\.shared \.align (\d+) \.b8 ([\w$]+)\[(\d+)\];\n`)

// dynamic makes the threadgroup memory of each kernel that has more than PTX may declare with a
// size memory that a launch asks for: an array without a size, and above it what the runtime has
// to ask for (ptxfile.DynamicLine). All other kernels stay as they are, byte by byte. The size
// is known only here: clang is given a size, so that it can tell that accesses do not overlap.
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

// dynamicEntry is dynamic of one kernel.
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
	if len(arrays) != 1 { // they would all begin at one address
		return "", fmt.Errorf("PTX: %.80q has %d arrays of threadgroup memory, %d bytes together; expected one", text, len(arrays), total)
	}
	m := arrays[0]
	return fmt.Sprintf("%s.extern .shared .align %s .b8 %s[];\n%s%s", ptxfile.DynamicLine(total),
		text[m[2]:m[3]], text[m[4]:m[5]], text[:m[0]], text[m[1]:]), nil
}

// outside refuses large arrays between the entries, where clang puts one that several
// kernels use: which of them ask for it would not be known.
func outside(text string) error {
	for _, m := range array.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[3]); err != nil || n > ptxfile.StaticBytes {
			return fmt.Errorf("PTX: %s is outside of a kernel", strings.TrimSpace(m[0]))
		}
	}
	return nil
}

// firstEntry is where the first kernel of a text begins, with what it needs; -1: there is none.
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
