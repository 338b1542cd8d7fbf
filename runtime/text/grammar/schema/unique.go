package schema

import (
	"fmt"
	"slices"
	"strings"

	"mla/runtime/text/grammar"
)

// maxUnique is the most possible values of items that all have to be different.
const maxUnique = 8

var errUnique = &UnsupportedError{"", "uniqueItems", fmt.Sprintf("it can be held of at most %d values, as those of an enum", maxUnique)}

// uniqueArray is an array whose items are all different; each item is one of a few values. There are no items
// after the ones with few values.
func (c *compiler) uniqueArray(a *array) (grammar.Expr, error) {
	if len(a.counts) > 0 {
		return nil, errUnique
	}
	if a.most >= 0 && a.most <= 1 {
		one := *a
		one.unique = false
		return c.arrayOf(&one)
	}
	var words []string
	u := &uniques{compiler: c, array: a, known: map[string]grammar.Ref{}, name: fmt.Sprintf("different items %d", len(c.g.Rules))}
	for i := 0; i <= len(a.front); i++ {
		values, err := c.finite(a.at(i))
		if err != nil {
			return nil, err
		}
		if values == nil {
			if i == 0 {
				return nil, errUnique
			}
			u.most = i
			break
		}
		var numbers []int
		for _, v := range values {
			if !slices.Contains(words, v) {
				words = append(words, v)
			}
			numbers = append(numbers, slices.Index(words, v))
		}
		u.values = append(u.values, numbers)
	}
	if len(words) > maxUnique {
		return nil, errUnique
	}
	if u.words = words; u.most == 0 || a.most >= 0 && a.most < u.most {
		u.most = a.most
	}
	if u.most < 0 || u.most > len(words) {
		u.most = len(words)
	}
	rest, err := u.from(0, 0)
	return grammar.Seq{grammar.Literal("["), c.space(), rest}, err
}

// uniques makes a rule for each set of used values.
type uniques struct {
	*compiler
	*array
	name   string
	words  []string
	values [][]int // by item; the last is for all further ones
	most   int
	known  map[string]grammar.Ref
}

func (u *uniques) from(i, used int) (grammar.Expr, error) {
	key := fmt.Sprint(min(i, len(u.values)), used)
	if r, ok := u.known[key]; ok {
		return r, nil
	}
	r := u.g.Add(u.name, nil)
	u.known[key] = r
	var all grammar.Alt
	if i >= u.least {
		all = append(all, grammar.Seq{u.space(), grammar.Literal("]")})
	}
	if i < u.most {
		for _, v := range u.values[min(i, len(u.values)-1)] {
			if used>>v&1 == 1 {
				continue
			}
			rest, err := u.from(i+1, used|1<<v)
			if err != nil {
				return nil, err
			}
			one := grammar.Seq{grammar.Literal(u.words[v]), rest}
			if i > 0 {
				one = append(grammar.Seq{grammar.Literal(","), u.space()}, one...)
			}
			all = append(all, one)
		}
	}
	u.g.Rules[r].Expr = all
	return r, nil
}

// finite is the values that satisfy a condition, as JSON; nil: there are too many.
func (c *compiler) finite(p *condition) ([]string, error) {
	f, err := c.form(p, false)
	if err != nil {
		return nil, err
	}
	list := []string{}
	if !f.text.isWords && !f.text.none() || len(f.objects)+len(f.arrays) > 0 {
		return nil, nil
	}
	for word, has := range map[string]bool{"null": f.null, "true": f.yes, "false": f.no} {
		if has {
			list = append(list, word)
		}
	}
	slices.Sort(list)
	if !f.text.none() {
		for _, w := range f.text.words {
			list = append(list, quote(w))
		}
	}
	for _, n := range f.numbers {
		if n.low == nil || n.high == nil || n.low.Cmp(n.high) != 0 {
			return nil, nil
		}
		places, _ := places(n.low)
		list = append(list, strings.TrimSuffix(n.low.FloatString(places), "."))
	}
	return list, nil
}
