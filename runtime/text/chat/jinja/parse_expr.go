package jinja

import "slices"

// expression reads one expression.
func (p *parser) expression() expr {
	p.nest()
	defer p.unnest()
	return p.conditional()
}

func (p *parser) conditional() expr {
	known := len(p.unknown)
	x := p.or()
	for p.skipName("if") {
		p.unknown = p.unknown[:known] // the branch may never be evaluated
		p.soft++
		c := &conditional{test: p.or(), yes: x}
		if p.skipName("else") {
			c.no = p.expression()
		}
		p.soft--
		x = c
	}
	return x
}

func (p *parser) or() expr {
	x := p.and()
	for p.skipName("or") {
		x = &logic{false, x, p.and()}
	}
	return x
}

func (p *parser) and() expr {
	x := p.not()
	for p.skipName("and") {
		x = &logic{true, x, p.not()}
	}
	return x
}

func (p *parser) not() expr {
	if !p.skipName("not") {
		return p.compare()
	}
	p.nest()
	defer p.unnest()
	return &unary{"not", p.not()}
}

func (p *parser) compare() expr {
	x := p.sum()
	var ops []operand
	for {
		op := p.current().kind
		switch {
		case p.is("==", "!=", "<", "<=", ">", ">="):
			p.advance()
		case p.skipName("in"):
			op = "in"
		case p.isName("not") && p.look().kind == tokName && p.look().text == "in":
			p.advance()
			p.advance()
			op = "not in"
		case len(ops) == 0:
			return x
		default:
			return &comparison{x, ops}
		}
		ops = append(ops, operand{op, p.sum()})
	}
}

// operators parses operands that are joined by the given operators, left-associative.
func (p *parser) operators(operand func() expr, ops ...string) expr {
	x := operand()
	for p.is(ops...) {
		x = &binary{p.advance().kind, x, operand()}
	}
	return x
}

func (p *parser) sum() expr { return p.operators(p.joined, "+", "-") }

func (p *parser) joined() expr {
	x := p.product()
	if !p.is("~") {
		return x
	}
	parts := []expr{x}
	for p.skipIf("~") {
		parts = append(parts, p.product())
	}
	return &concat{parts}
}

func (p *parser) product() expr { return p.operators(p.power, "*", "/", "//", "%") }

func (p *parser) power() expr {
	return p.operators(func() expr { return p.unary(true) }, "**")
}

func (p *parser) unary(filters bool) expr {
	var x expr
	if p.is("-", "+") {
		p.nest()
		x = &unary{p.advance().kind, p.unary(false)}
		p.unnest()
	} else {
		x = p.primary()
	}
	x = p.postfix(x)
	if filters {
		x = p.suffixes(x)
	}
	return x
}

func (p *parser) primary() expr {
	t := p.current()
	switch t.kind {
	case tokName:
		p.advance()
		if v, ok := constants[t.text]; ok {
			return &constant{v}
		}
		return &nameExpr{t.text}
	case tokString:
		text := ""
		for p.is(tokString) {
			text += p.advance().text
		}
		return &constant{text}
	case tokInteger, tokFloat:
		p.advance()
		return &constant{t.num}
	case "(":
		p.advance()
		x := p.tupleIn(true, true, ")")
		p.expect(")")
		return x
	case "[":
		return &listExpr{items: p.items("]")}
	case "{":
		return p.dict()
	}
	p.unexpected("an expression")
	return nil
}

// items parses expressions between brackets; the opening one is the current token.
func (p *parser) items(end string) (list []expr) {
	p.advance()
	for !p.is(end) {
		if len(list) > 0 {
			p.expect(",")
		}
		if p.is(end) {
			break
		}
		list = append(list, p.expression())
	}
	p.expect(end)
	return list
}

func (p *parser) dict() expr {
	d := &dictExpr{}
	p.advance()
	for !p.is("}") {
		if len(d.keys) > 0 {
			p.expect(",")
		}
		if p.is("}") {
			break
		}
		d.keys = append(d.keys, p.expression())
		p.expect(":")
		d.values = append(d.values, p.expression())
	}
	p.expect("}")
	return d
}

// tuple parses an expression, or several separated by commas, up to the end of the tag or one of the names.
// With conditions unset, it leaves `if` to the loop.
func (p *parser) tuple(conditions bool, ends ...string) expr {
	return p.tupleIn(conditions, false, ends...)
}

func (p *parser) tupleIn(conditions, brackets bool, ends ...string) expr {
	var list []expr
	single := true
	for {
		if len(list) > 0 {
			p.expect(",")
		}
		if p.is(tokVarEnd, tokTagEnd, ")") || p.isName(ends...) {
			break
		}
		if conditions {
			list = append(list, p.expression())
		} else {
			p.nest()
			list = append(list, p.or())
			p.unnest()
		}
		if !p.is(",") {
			break
		}
		single = false
	}
	switch {
	case single && len(list) == 1:
		return list[0]
	case single && !brackets:
		p.unexpected("an expression")
	}
	return &listExpr{list, true}
}

// postfix parses attributes, subscripts and calls.
func (p *parser) postfix(x expr) expr {
	for {
		switch p.current().kind {
		case ".":
			p.advance()
			if t := p.current(); t.kind == tokInteger {
				p.advance()
				x = &subscript{x, &constant{t.num}}
			} else {
				x = &attribute{x, p.expect(tokName).text}
			}
		case "[":
			x = p.subscript(x)
		case "(":
			x = &call{x, p.arguments()}
		default:
			return x
		}
	}
}

// suffixes parses filters, tests and calls.
func (p *parser) suffixes(x expr) expr {
	for {
		switch {
		case p.is("|"):
			x = p.filters(x)
		case p.isName("is"):
			x = p.test(x)
		case p.is("("):
			x = &call{x, p.arguments()}
		default:
			return x
		}
	}
}

func (p *parser) subscript(x expr) expr {
	p.advance()
	var keys []expr
	var slice *sliceExpr
	for !p.is("]") {
		if len(keys) > 0 {
			p.expect(",")
		}
		var key expr
		if key, slice = p.key(x); slice != nil {
			key = span{}
		}
		keys = append(keys, key)
	}
	p.expect("]")
	switch {
	case len(keys) == 1 && slice != nil:
		return slice
	case len(keys) == 1:
		return &subscript{x, keys[0]}
	}
	return &subscript{x, &listExpr{keys, true}}
}

// key parses a subscript, or a slice of x.
func (p *parser) key(x expr) (expr, *sliceExpr) {
	var first expr
	if !p.is(":") {
		first = p.expression()
		if !p.is(":") {
			return first, nil
		}
	}
	p.advance()
	part := func() expr {
		if p.is(":", "]", ",") {
			return nil
		}
		return p.expression()
	}
	s := &sliceExpr{x: x, start: first, stop: part()}
	if p.skipIf(":") {
		s.step = part()
	}
	return nil, s
}

// arguments parses the arguments of a call.
func (p *parser) arguments() (a arguments) {
	p.expect("(")
	for n := 0; !p.is(")"); n++ {
		if n > 0 {
			p.expect(",")
			if p.is(")") {
				break
			}
		}
		p.argument(&a)
	}
	p.expect(")")
	return a
}

func (p *parser) argument(a *arguments) {
	switch {
	case a.starstar == nil && p.skipIf("**"):
		a.starstar = p.expression()
	case a.star == nil && a.starstar == nil && p.skipIf("*"):
		a.star = p.expression()
	case p.is(tokName) && p.look().kind == "=" && a.starstar == nil:
		name := p.advance().text
		if slices.Contains(a.names, name) {
			p.fail("the argument %s is given twice", name)
		}
		p.advance()
		a.names, a.named = append(a.names, name), append(a.named, p.expression())
	case a.star == nil && a.starstar == nil && len(a.named) == 0:
		a.list = append(a.list, p.expression())
	default:
		p.fail("a call has its arguments in the wrong order; expected those without names first, then those with names")
	}
}

// filters parses any number of filters of x.
func (p *parser) filters(x expr) expr {
	for p.skipIf("|") {
		x = p.filter(x)
	}
	return x
}

// dotted parses the name of a filter or a test.
func (p *parser) dotted() string {
	name := p.expect(tokName).text
	for p.skipIf(".") {
		name += "." + p.expect(tokName).text
	}
	return name
}

func (p *parser) filter(x expr) expr {
	f := &filterExpr{x: x, name: p.dotted()}
	if p.is("(") {
		f.args = p.arguments()
	}
	p.know(filters[f.name] != nil, noFilter(f.name))
	return f
}

// know records the message for an unknown name. It becomes an error unless the code may never be reached.
func (p *parser) know(known bool, message string) {
	if !known && p.soft == 0 {
		p.unknown = append(p.unknown, &Error{Line: p.current().line, Message: message})
	}
}

// noArguments is the names that end a test instead of being its argument.
var noArguments = []string{"else", "or", "and"}

func (p *parser) test(x expr) expr {
	p.expectName("is")
	t := &testExpr{x: x, not: p.skipName("not")}
	t.name = p.dotted()
	switch {
	case p.is("("):
		t.args = p.arguments()
	case p.is(tokName, tokString, tokInteger, tokFloat, "[", "{") && !p.isName(noArguments...):
		if p.isName("is") {
			p.fail("tests cannot be chained with is")
		}
		t.args.list = []expr{p.postfix(p.primary())}
	}
	p.know(tests[t.name] != nil, noTest(t.name))
	return t
}
