package checkup

import (
	"fmt"
	"strings"

	"mla/runtime/system/atomicfile"
)

// MostBytes is the greatest size of a report: it fits into an issue or a mail.
const MostBytes = 20000

// Report is the state of an examination.
type Report struct {
	Title   string
	Facts   []Row // known before any stage runs
	Results []*Result
	Running string // the stage that is running; "": the examination has ended
}

// Failures returns the number of failed checks.
func (r *Report) Failures() (n int) {
	for _, s := range r.Results {
		n += s.Failures()
	}
	return n
}

// WriteFile replaces a file by the report, by renaming.
func (r *Report) WriteFile(path string) error {
	return atomicfile.Write(path, []byte(r.Markdown()))
}

// Markdown returns the report, of at most MostBytes. Passed checks are only counted. Failures are given in
// full as long as they fit; every stage with failures gets the same share of the bytes.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", cell(r.Title), r.state())
	table(&b, 4000, r.Facts, r.first())
	b.WriteString("\n## Stages\n\n| stage | result | passed | time |\n|---|---|---:|---:|\n")
	var failed []*Result
	for _, s := range r.Results {
		fmt.Fprintf(&b, "| %s | %s | %d | %s |\n", cell(s.Stage), cell(s.Status()), s.Passed, seconds(s.Outcome.Elapsed))
		if s.Failures() > 0 {
			failed = append(failed, s)
		}
	}
	r.measured(&b)
	r.skipped(&b)
	for i, s := range failed {
		s.failed(&b, (MostBytes-b.Len())/(len(failed)-i))
	}
	return b.String()
}

func (r *Report) state() string {
	switch n := r.Failures(); {
	case r.Running != "":
		return "The examination did not end. It was at the stage **" + cell(r.Running) + "**."
	case n > 0:
		return fmt.Sprintf("Result: %d FAILED", n)
	}
	if left := r.Unchecked(); len(left) > 0 {
		return "Result: ok, but not checked: " + strings.Join(left, ", ")
	}
	return "Result: ok"
}

// Unchecked lists the stages that have checked nothing, and the checks that other stages have left out.
func (r *Report) Unchecked() (list []string) {
	for _, s := range r.Results {
		switch {
		case s.Unchecked():
			list = append(list, s.Stage)
		case s.part.Kind == Part:
			list = append(list, s.part.Text)
		}
	}
	return list
}

// first returns the facts of the first stage: which device is examined.
func (r *Report) first() []Row {
	if len(r.Results) == 0 {
		return nil
	}
	return r.Results[0].Facts
}

// table writes facts in two columns, at most the given number of bytes.
func table(b *strings.Builder, most int, lists ...[]Row) {
	b.WriteString("| | |\n|---|---|\n")
	for _, list := range lists {
		for _, f := range list {
			row := fmt.Sprintf("| %s | %s |\n", cell(f.Name), cell(f.Text))
			if most -= len(row); most < 0 {
				return
			}
			b.WriteString(row)
		}
	}
}

// measured writes the facts of the later stages.
func (r *Report) measured(b *strings.Builder) {
	var list []Row
	for _, s := range r.Results[min(1, len(r.Results)):] {
		for _, f := range s.Facts {
			list = append(list, Row{Fact, s.Stage + ": " + f.Name, f.Text})
		}
	}
	if len(list) > 0 {
		b.WriteString("\n## Measured\n\n")
		table(b, 5000, list)
	}
}

// skipped lists the checks that were skipped, as many as fit.
func (r *Report) skipped(b *strings.Builder) {
	most, begun := 1500, false
	for _, s := range r.Results {
		for _, row := range s.Skipped {
			line := fmt.Sprintf("* %s: %s\n", cell(row.Name), cell(row.Text))
			if most -= len(line); most < 0 {
				return
			}
			if !begun {
				b.WriteString("\n## Not made\n\n")
				begun = true
			}
			b.WriteString(line)
		}
	}
}

// failed writes the failures of a stage, in at most the given number of bytes.
func (r *Result) failed(b *strings.Builder, most int) {
	head := fmt.Sprintf("\n## Failed: %s\n\n```\n", cell(r.Stage))
	const end, more = "```\n", "… and %d more\n"
	most -= len(head) + len(end) + len(more) + 10
	if most < 200 {
		return // the table of stages names the stage
	}
	b.WriteString(head)
	written := 0
	for i, row := range r.Failed {
		line := fenced(row.Name+": "+row.Text) + "\n"
		if i == 0 {
			line = cut(line, most/2) // a long line leaves half of the bytes for other lines
		}
		if len(line) > most {
			break
		}
		b.WriteString(line)
		most -= len(line)
		written++
	}
	if left := r.failures - written; left > 0 {
		fmt.Fprintf(b, more, left)
	}
	if said := fenced(r.Said()); said != "" && most > 100 {
		b.WriteString(cut("\n"+said+"\n", most))
	}
	b.WriteString(end)
}

// cell escapes a text for a cell of a Markdown table.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.NewReplacer("|", "\\|", "`", "'", "<", "&lt;").Replace(text)
	return strings.TrimSuffix(cut(text, 240), "\n")
}

// fenced escapes a text for a fenced code block.
func fenced(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "```", "'''")
}

// cut shortens a text to a number of bytes. A shortened text ends with a line break.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const mark = " …\n"
	return strings.ToValidUTF8(text[:max(0, most-len(mark))], "") + mark
}
