package kernels

import "fmt"

// reachable tells which functions the used ones call. A function of a struct, which
// is a quant format, is called where its name follows the struct's, or a template's
// type that a kernel makes that struct, on the way through other templates or not.
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
	entered map[string]bool   // functions with their types
	structs map[string]string // what a typedef makes another name of
}

// enter follows the calls in a function, with the structs that its template's types
// stand for.
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

// stands is what a name stands for.
func stands(name string, names map[string]string) string {
	if other, ok := names[name]; ok {
		return other
	}
	return name
}

// rename adds the name of a typedef in a function to the types: it stands for what the
// first of them does that it is made of. The result is where the typedef ends.
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

// semicolon finds the first one from a token on.
func (l *list) semicolon(at int) int {
	for l.tokens[at].Text != ";" {
		at++
	}
	return at
}

// member is the name after a ::, without the word template.
func (l *list) member(colons int) string {
	if name := l.tokens[colons+1].Text; name != "template" {
		return name
	}
	return l.tokens[colons+2].Text
}

// arguments lists the template's arguments after a name, without numbers, and
// tells where they end.
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
		if r.tokens[at].Text == "typename" && len(types) < len(arguments) {
			types[r.tokens[at+1].Text] = arguments[len(types)]
		}
	}
	return types
}
