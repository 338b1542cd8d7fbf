package kernels

import "fmt"

// reachable returns which functions the used ones call, directly or not. The member functions of quant
// formats are called through names like q4_0::dot or T::dot, where T is a parameter of a template that some
// kernel instantiates with the struct q4_0. The search therefore carries the types of template parameters
// through the calls.
func (l *list) reachable(all []function, used map[string]bool) []bool {
	r := &reach{list: l, all: all, reached: make([]bool, len(all)), entered: map[string]bool{}, structs: map[string]string{}}
	for at, t := range l.tokens {
		if t.Text == "typedef" {
			r.structs[l.tokens[l.semicolon(at)-1].Text] = l.tokens[at+1].Text
		}
	}
	for i, f := range all {
		if used[f.plain] {
			r.enter(i, map[string]string{})
		}
	}
	return r.reached
}

type reach struct {
	*list
	all     []function
	reached []bool
	entered map[string]bool   // functions already followed, with their template types
	structs map[string]string // what each typedef stands for
}

// enter follows the calls in function i. types maps the parameters of its template to structs.
func (r *reach) enter(i int, types map[string]string) {
	call := fmt.Sprint(i, types)
	if r.entered[call] {
		return
	}
	r.entered[call], r.reached[i] = true, true
	f := &r.all[i]
	for at := f.from; at < f.to; at++ {
		t := r.tokens[at]
		if t.Text == "typedef" {
			at = r.rename(at, types)
			continue
		}
		if !t.word() || r.tokens[at-1].Text == "::" || r.tokens[at-1].Text == "template" {
			continue
		}
		arguments, next := r.arguments(at)
		for i, name := range arguments {
			arguments[i] = stands(name, types)
		}
		if r.tokens[next].Text == "::" {
			r.call(stands(stands(t.Text, types), r.structs), r.member(next), nil)
			continue
		}
		r.call("", t.Text, arguments)
		if f.owner != "" {
			r.call(f.owner, t.Text, nil)
		}
	}
}

// stands returns what names maps a name to, or the name itself.
func stands(name string, names map[string]string) string {
	if other, ok := names[name]; ok {
		return other
	}
	return name
}

// rename records the typedef whose tokens begin at at. Its new name stands for the first name in the typedef
// that is a known type. The result is the token where the typedef ends.
func (r *reach) rename(at int, types map[string]string) int {
	end := r.semicolon(at)
	for ; at < end; at++ {
		if of, ok := types[r.tokens[at].Text]; ok {
			types[r.tokens[end-1].Text] = of
			break
		}
	}
	return end
}

// semicolon returns the index of the first semicolon from a token on.
func (l *list) semicolon(at int) int {
	for l.tokens[at].Text != ";" {
		at++
	}
	return at
}

// member returns the name after a ::, skipping the word template.
func (l *list) member(colons int) string {
	if name := l.tokens[colons+1].Text; name != "template" {
		return name
	}
	return l.tokens[colons+2].Text
}

// arguments returns the template arguments after a name, without numbers, and the token where they end.
func (l *list) arguments(at int) (list []string, end int) {
	if end = at + 1; l.tokens[end].Text != "<" {
		return nil, end
	}
	for end++; l.tokens[end].Text != ">" && l.tokens[end].Text != ";"; end++ {
		if text := l.tokens[end].Text; l.tokens[end].word() && text[0] > '9' {
			list = append(list, text)
		}
	}
	return list, end + 1
}

// call follows a call: it enters all functions with that owner and name.
func (r *reach) call(owner, name string, arguments []string) {
	for i := range r.all {
		f := &r.all[i]
		if f.plain == name && f.owner == owner {
			r.enter(i, r.bind(f, arguments))
		}
	}
}

// bind maps the parameters of a function's template to the arguments of a call. It does so only if all
// parameters are types.
func (r *reach) bind(f *function, arguments []string) map[string]string {
	types := map[string]string{}
	for at := f.head; at < f.from; at++ {
		if r.tokens[at].Text == "typename" && len(types) < len(arguments) {
			types[r.tokens[at+1].Text] = arguments[len(types)]
		}
	}
	return types
}
