package pieces

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Library is Metal source that bundles share: files with marks. A bundle's own text names the files that it
// needs, and lists the variants of its kernels as macros (fold). Whole inserts the files and expands the
// macros. Both texts have lines that only Whole reads:
//
//	//# NAME …
//
// In a library, the line comes before the file with that name. In a bundle's text, it comes where the files
// are to be inserted.
type Library struct {
	names []string
	files map[string]file
}

// file is a file of a library, cut after each mark.
type file struct {
	text  string
	marks []markAt
}

// markAt is a mark and the position of its line in the text.
type markAt struct {
	Mark
	begin, end int
}

// marksOf finds the marks of a text.
func marksOf(text string) (list []markAt) {
	for at := 0; ; {
		if !IsMark(text[at:]) {
			n := strings.Index(text[at:], "\n"+prefix)
			if n < 0 {
				return list
			}
			at += n + 1
		}
		line, _, _ := strings.Cut(text[at:], "\n")
		m, _ := parse(line)
		list = append(list, markAt{m, at, min(at+len(line)+1, len(text))})
		at += len(line)
	}
}

const filePrefix = "//#"

// fileLine is a line that names files. File names have no spaces.
func fileLine(names ...string) string {
	return strings.Join(append([]string{filePrefix}, names...), " ") + "\n"
}

// filesOf parses such a line.
func filesOf(line string) (names []string, ok bool) {
	rest, ok := strings.CutPrefix(line, filePrefix)
	return strings.Fields(rest), ok
}

// Add appends a file.
func (l *Library) Add(name, text string) {
	if l.files == nil {
		l.files = map[string]file{}
	}
	l.names = append(l.names, name)
	l.files[name] = file{text, marksOf(text)}
}

// Text is the library in the form that ParseLibrary reads, after a comment.
func (l *Library) Text(comment string) string {
	var out strings.Builder
	out.WriteString(comment + "\n")
	for _, name := range l.names {
		out.WriteString(fileLine(name) + l.files[name].text)
	}
	return out.String()
}

// ParseLibrary parses a library.
func ParseLibrary(text string) (*Library, error) {
	if !strings.HasSuffix(text, "\n") {
		return nil, errors.New("the library does not end with the end of a line: it is cut off")
	}
	l := &Library{}
	name, begin, at := "", 0, 0
	end := func() {
		if name != "" {
			l.Add(name, text[begin:at])
		}
	}
	for line := range strings.Lines(text) {
		names, ok := filesOf(line)
		switch {
		case ok && (len(names) != 1 || slices.Contains(l.names, names[0]) || names[0] == name):
			return nil, fmt.Errorf("the library has the line %.100q; expected the name of one file, once", line)
		case ok:
			end()
			name, begin = names[0], at+len(line)
		case name == "" && strings.HasPrefix(line, "//"): // comments before the first file
		case name == "":
			return nil, fmt.Errorf("the library begins with %.100q; expected %s and the name of a file", line, filePrefix)
		}
		at += len(line)
	}
	end()
	return l, nil
}

// Kernels is the inverse of Whole: the text of a bundle from its whole source. It leaves out the library's
// files, which must follow the leading comments in the library's order, and writes variants as macros.
func (l *Library) Kernels(whole string) string {
	at, known := 0, map[string]bool{}
	for line := range strings.Lines(whole) {
		if !strings.HasPrefix(line, "//") || IsMark(line) {
			break
		}
		at += len(line)
	}
	declared(known, marksOf(whole))
	var files []string
	rest := whole[at:]
	for _, name := range l.names {
		var text strings.Builder
		l.files[name].write(&text, known)
		if text, ok := strings.CutPrefix(rest, text.String()); ok {
			files, rest = append(files, name), text
		}
	}
	return whole[:at] + fileLine(files...) + fold(rest)
}

// Whole is the whole source of a bundle from its own text. Names that this source does not declare are
// removed from the library's marks.
func (l *Library) Whole(kernels string) (string, error) {
	at := strings.Index("\n"+kernels, "\n"+filePrefix)
	if at < 0 {
		return "", fmt.Errorf("no line of %s in the kernels of a bundle", filePrefix)
	}
	line, folded, _ := strings.Cut(kernels[at:], "\n")
	names, _ := filesOf(line)
	var own strings.Builder
	own.Grow(2 * len(folded))
	if err := unfold(&own, folded); err != nil {
		return "", err
	}
	rest := own.String()
	known := map[string]bool{}
	size := at + len(rest)
	for _, name := range names {
		f, ok := l.files[name]
		if !ok {
			return "", fmt.Errorf("the library has no file %.100q; it has %s", name, strings.Join(l.names, ", "))
		}
		declared(known, f.marks)
		size += min(len(f.text), maxLibrary)
	}
	declared(known, marksOf(rest))
	var out strings.Builder
	out.Grow(min(size, maxLibrary))
	out.WriteString(kernels[:at])
	for _, name := range names {
		l.files[name].write(&out, known)
	}
	out.WriteString(rest)
	return out.String(), nil
}

// maxLibrary bounds the memory that is allocated at once for a source, in bytes.
const maxLibrary = 1 << 21

// declared adds the names that marks declare to known.
func declared(known map[string]bool, marks []markAt) {
	for i := range marks {
		for _, name := range marks[i].Names {
			known[name] = true
		}
	}
}

// write writes a file with only known names in its marks.
func (f file) write(out *strings.Builder, known map[string]bool) {
	unknown := func(name string) bool { return !known[name] }
	at := 0
	for i := range f.marks {
		m := &f.marks[i]
		if !slices.ContainsFunc(m.If, unknown) && !slices.ContainsFunc(m.Using, unknown) {
			continue
		}
		out.WriteString(f.text[at:m.begin])
		at = m.end
		of := Mark{m.Names, slices.DeleteFunc(slices.Clone(m.If), unknown), slices.DeleteFunc(slices.Clone(m.Using), unknown)}
		out.WriteString(of.String() + "\n")
	}
	out.WriteString(f.text[at:])
}
