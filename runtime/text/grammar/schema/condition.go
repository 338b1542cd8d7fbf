package schema

import (
	"fmt"
	"slices"
	"strings"
)

// condition is what a value has to satisfy. Equal conditions are shared.
type condition struct {
	kind  conditionKind
	id    int
	place place        // for isSchema
	of    []*condition // for isNot, isEach, isSome
}

type conditionKind uint8

const (
	isAny    conditionKind = iota // any value
	isNone                        // no value
	isSchema                      // valid against place
	isNot                         // does not satisfy of[0]
	isEach                        // satisfies all
	isSome                        // satisfies one
)

var (
	anyValue = &condition{kind: isAny}
	noValue  = &condition{kind: isNone, id: 1}
)

// conditions stores each condition once.
type conditions struct {
	known map[string]*condition
}

func (c *conditions) make(p *condition) *condition {
	key := fmt.Sprintf("%d %p %p", p.kind, p.place.schema, p.place.scope)
	for _, of := range p.of {
		key += fmt.Sprintf(" %d", of.id)
	}
	if known, ok := c.known[key]; ok {
		return known
	}
	p.id = len(c.known) + 2
	c.known[key] = p
	return p
}

// schema is the condition of being valid against the schema of a place.
func (c *conditions) schema(p place) *condition {
	if p.schema == nil {
		if p.always {
			return anyValue
		}
		return noValue
	}
	if len(p.schema.keys) == 0 {
		return anyValue
	}
	return c.make(&condition{kind: isSchema, place: p})
}

func (c *conditions) not(p *condition) *condition {
	switch p.kind {
	case isAny:
		return noValue
	case isNone:
		return anyValue
	case isNot:
		return p.of[0]
	}
	return c.make(&condition{kind: isNot, of: []*condition{p}})
}

// each is the condition of satisfying all of a list.
func (c *conditions) each(list ...*condition) *condition {
	return c.join(isEach, noValue, anyValue, list)
}

// some is the condition of satisfying any of a list.
func (c *conditions) some(list ...*condition) *condition {
	return c.join(isSome, anyValue, noValue, list)
}

func (c *conditions) join(kind conditionKind, zero, one *condition, list []*condition) *condition {
	var of []*condition
	for _, p := range list {
		switch {
		case p == zero:
			return zero
		case p == one:
		case p.kind == kind:
			of = append(of, p.of...)
		default:
			of = append(of, p)
		}
	}
	slices.SortFunc(of, func(a, b *condition) int { return a.id - b.id })
	switch of = slices.Compact(of); len(of) {
	case 0:
		return one
	case 1:
		return of[0]
	}
	return c.make(&condition{kind: kind, of: of})
}

// path lists the places of a condition.
func (p *condition) path() string {
	switch p.kind {
	case isAny:
		return "any"
	case isNone:
		return "none"
	case isSchema:
		return p.place.path
	case isNot:
		return "not " + p.of[0].path()
	}
	var parts []string
	for _, of := range p.of[:min(len(p.of), 4)] {
		parts = append(parts, of.path())
	}
	return strings.Join(parts, map[conditionKind]string{isEach: " and ", isSome: " or "}[p.kind])
}
