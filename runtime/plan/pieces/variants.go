package pieces

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Variants of a kernel differ only in names: the function's and those of types. In a bundle's own text they
// are one macro, which Metal's compiler can read, too:
//
//	//# variants using NAME …
//	#define VARIANT(NAME, A) \
//	…
//	VARIANT(embed_f16, f16)
//	VARIANT(embed_q8_0, q8_0)
//	#undef VARIANT
//
// Whole expands each use of the macro to a function with a mark. So a compiler error names a line of the
// variant, and the code that cuts a source need not know macros.
const (
	macro         = "VARIANT"
	variantsStart = filePrefix + " variants " + usingWord
	defineStart   = "#define " + macro + "("
	undefineLine  = "#undef " + macro + "\n"
	lineGoesOn    = " \\\n"
	functionName  = "NAME"
)

// variant is a function with its mark, and its text split into words and the text between them.
type variant struct {
	mark   Mark
	tokens []string
}

var (
	tokenPattern = regexp.MustCompile(`\w+|\W+`)
	wordPattern  = regexp.MustCompile(`\b[A-Z]+\b`) // may be a parameter
)

// variantOf parses a piece; ok: its text can be a macro.
func variantOf(m Mark, text string) (v variant, ok bool) {
	ok = len(m.Names) == 1 && len(m.If) == 0 && strings.HasSuffix(text, "}\n\n") && !strings.ContainsAny(text, `#\`) && !strings.Contains(text, "//")
	return variant{m, tokenPattern.FindAllString(strings.TrimSuffix(text, "\n"), -1)}, ok
}

// String is the text of the piece with its mark.
func (v variant) String() string { return v.mark.String() + "\n" + strings.Join(v.tokens, "") + "\n" }

// declares says whether the mark of v contains a word.
func (v variant) declares(word string) bool {
	return slices.Contains(v.mark.Names, word) || slices.Contains(v.mark.Using, word)
}

// differing returns the indices of the tokens in which two variants differ; ok: these tokens are names of
// their marks.
func (v variant) differing(other variant) (places []int, ok bool) {
	if len(v.tokens) != len(other.tokens) {
		return nil, false
	}
	for i, word := range v.tokens {
		if word == other.tokens[i] {
			continue
		}
		if !v.declares(word) || !other.declares(other.tokens[i]) {
			return nil, false
		}
		places = append(places, i)
	}
	return places, true
}

// family returns the leading variants of list that belong to one kernel, and the indices of the tokens in
// which they differ.
func family(list []variant) (of []variant, places []int) {
	of = list[:1]
	for _, v := range list[1:] {
		more, ok := v.differing(list[0])
		if !ok {
			break
		}
		places = append(places, more...)
		of = list[:len(of)+1]
	}
	slices.Sort(places)
	return of, slices.Compact(places)
}

// foldFamily writes a family as a macro with its uses; ok: unfold restores the family.
func foldFamily(list []variant, places []int) (text string, ok bool) {
	uses := make([][]string, len(list)) // arguments of the macro: the function, and the tokens that differ
	for i, v := range list {
		uses[i] = []string{v.mark.Names[0]}
	}
	names, known := []string{functionName}, map[string]string{}
	tokens, using := slices.Clone(list[0].tokens), slices.Clone(list[0].mark.Using)
	for _, place := range places {
		column, function := make([]string, len(list)), true
		for i, v := range list {
			column[i] = v.tokens[place]
			function = function && column[i] == v.mark.Names[0]
		}
		key := strings.Join(column, " ")
		if function {
			known[key] = functionName
		} else if known[key] == "" { // tokens that are equal in every variant share a parameter
			known[key] = string(rune('A' + len(names) - 1))
			names = append(names, known[key])
			using = slices.DeleteFunc(using, func(name string) bool { return name == column[0] })
			for i := range uses {
				uses[i] = append(uses[i], column[i])
			}
		}
		tokens[place] = known[key]
	}
	var out, want, got strings.Builder
	body := strings.TrimSuffix(strings.Join(tokens, ""), "\n")
	out.WriteString(strings.Join(append([]string{variantsStart}, using...), " ") + "\n")
	out.WriteString(defineStart + strings.Join(names, ", ") + ")" + lineGoesOn + strings.ReplaceAll(body, "\n", lineGoesOn) + "\n")
	for i, v := range list {
		out.WriteString(macro + "(" + strings.Join(uses[i], ", ") + ")\n")
		want.WriteString(v.String())
	}
	out.WriteString(undefineLine)
	err := unfold(&got, out.String())
	return out.String(), err == nil && got.String() == want.String()
}

// fold writes consecutive variants of a kernel as one macro.
func fold(text string) string {
	var out strings.Builder
	var list []variant
	flush := func() {
		for len(list) > 0 {
			of, places := family(list)
			text, ok := foldFamily(of, places)
			if len(of) == 1 || !ok {
				of, text = list[:1], list[0].String()
			}
			out.WriteString(text)
			list = list[len(of):]
		}
	}
	at, marks := 0, marksOf(text)
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1].begin
		}
		if v, ok := variantOf(m.Mark, text[m.end:end]); ok && v.String() == text[m.begin:end] {
			out.WriteString(text[at:m.begin])
			list, at = append(list, v), end
			continue
		}
		flush()
		out.WriteString(text[at:end])
		at = end
	}
	flush()
	return out.String() + text[at:]
}

// unfold is the inverse of fold.
func unfold(out *strings.Builder, text string) error {
	for {
		at := strings.Index(text, variantsStart)
		if at < 0 {
			out.WriteString(text)
			return nil
		}
		out.WriteString(text[:at])
		block, rest, ok := strings.Cut(text[at:], undefineLine)
		if !ok {
			return fmt.Errorf("variants of a kernel lack the line %q", undefineLine)
		}
		if err := unfoldFamily(out, block); err != nil {
			return err
		}
		text = rest
	}
}

func unfoldFamily(out *strings.Builder, block string) error {
	head, definition, _ := strings.Cut(block, "\n")
	using := strings.Fields(strings.TrimPrefix(head, variantsStart))
	names, body, ok := strings.Cut(strings.TrimPrefix(definition, defineStart), ")"+lineGoesOn)
	at := strings.Index(body, "\n"+macro+"(")
	if !ok || at < 0 || !strings.HasPrefix(definition, defineStart) {
		return fmt.Errorf("variants of a kernel begin with %.100q; expected %s and its uses", definition, defineStart)
	}
	parameters := strings.Split(names, ", ")
	texts, holes := split(strings.ReplaceAll(body[:at+1], lineGoesOn, "\n"), parameters)
	for use := range strings.Lines(body[at+1:]) {
		args := strings.Split(strings.TrimSuffix(strings.TrimPrefix(use, macro+"("), ")\n"), ", ")
		if len(args) != len(parameters) || out.Len()+filled(texts, holes, args) > maxWhole {
			return fmt.Errorf("a variant of a kernel is %.100q; expected %d names, and a source below %d bytes", use, len(parameters), maxWhole)
		}
		all := slices.Concat(using, args[1:])
		slices.Sort(all)
		out.WriteString(Mark{Names: args[:1], Using: slices.Compact(all)}.String() + "\n" + texts[0])
		for i, n := range holes {
			out.WriteString(args[n])
			out.WriteString(texts[i+1])
		}
		out.WriteString("\n")
	}
	return nil
}

// split cuts a macro's text at its parameters; holes[i] is the parameter after texts[i].
func split(body string, parameters []string) (texts []string, holes []int) {
	at := 0
	for _, word := range wordPattern.FindAllStringIndex(body, -1) {
		if n := slices.Index(parameters, body[word[0]:word[1]]); n >= 0 {
			texts, holes, at = append(texts, body[at:word[0]]), append(holes, n), word[1]
		}
	}
	return append(texts, body[at:]), holes
}

// filled is the length of a macro's text with arguments.
func filled(texts []string, holes []int, args []string) (size int) {
	for _, text := range texts {
		size += len(text)
	}
	for _, n := range holes {
		size += len(args[n])
	}
	return size
}

// maxWhole bounds the size of an expanded source, in bytes.
const maxWhole = 1 << 24
