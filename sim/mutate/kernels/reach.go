package kernels

// reachable tells which functions the used ones call. A function of a struct, which
// is a quant format, is called where its name follows the struct's, or a template's
// type that a kernel makes that struct.
func (l *list) reachable(all []function, used map[string]bool) []bool {
	r := &reach{list: l, all: all, reached: make([]bool, len(all))}
	for i, f := range all {
		if used[f.plain] {
			r.enter(i, nil)
		}
	}
	return r.reached
}

type reach struct {
	*list
	all     []function
	reached []bool
}

// enter follows the calls in a function, with the structs that its template's types
// stand for.
func (r *reach) enter(i int, types map[string]string) {
	f := &r.all[i]
	if r.reached[i] && len(types) == 0 {
		return
	}
	r.reached[i] = true
	for at := f.from; at < f.to; at++ {
		t := r.tokens[at]
		if !t.word() || r.tokens[at-1].text == "::" || r.tokens[at-1].text == "template" {
			continue
		}
		owner, ok := types[t.text]
		if !ok {
			owner = t.text
		}
		arguments, next := r.arguments(at)
		if r.tokens[next].text == "::" {
			r.call(owner, r.member(next), nil)
			continue
		}
		r.call("", t.text, arguments)
		if f.owner != "" {
			r.call(f.owner, t.text, nil)
		}
	}
}

// member is the name behind a ::, without the word template.
func (l *list) member(colons int) string {
	if name := l.tokens[colons+1].text; name != "template" {
		return name
	}
	return l.tokens[colons+2].text
}

// arguments lists the template's arguments behind a name, without numbers, and
// tells where they end.
func (l *list) arguments(at int) (list []string, end int) {
	if end = at + 1; l.tokens[end].text != "<" {
		return nil, end
	}
	for end++; l.tokens[end].text != ">" && l.tokens[end].text != ";"; end++ {
		if text := l.tokens[end].text; l.tokens[end].word() && text[0] > '9' {
			list = append(list, text)
		}
	}
	return list, end + 1
}

// call enters the functions of a name.
func (r *reach) call(owner, name string, arguments []string) {
	for i := range r.all {
		f := &r.all[i]
		if f.plain == name && f.owner == owner {
			r.enter(i, r.bind(f, arguments))
		}
	}
}

// bind pairs the types of a function's template, if all of its parameters are
// types, with the arguments of a call.
func (r *reach) bind(f *function, arguments []string) map[string]string {
	types := map[string]string{}
	for at := f.head; at < f.from; at++ {
		if r.tokens[at].text == "typename" && len(types) < len(arguments) {
			types[r.tokens[at+1].text] = arguments[len(types)]
		}
	}
	return types
}
