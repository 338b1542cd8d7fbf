package output

import (
	"encoding/json"
	"slices"
	"strings"
)

// The markers of calls whose arguments are pairs of keys and values.
const (
	keyBegin, keyEnd     = "<arg_key>", "</arg_key>"
	valueBegin, valueEnd = "<arg_value>", "</arg_value>"
	callEnd              = "</tool_call>"
)

// pair reads a key, and its value unless that is passed on as it comes. What is no pair
// ends the call, and is text.
func (p *Parser) pair() bool {
	rest := strings.TrimLeft(p.held, space)
	skip := len(p.held) - len(rest)
	switch {
	case strings.HasPrefix(rest, callEnd):
		p.take(skip + len(callEnd))
		p.closePairs()
		return true
	case strings.HasPrefix(rest, keyBegin):
	case strings.HasPrefix(callEnd, rest) || strings.HasPrefix(keyBegin, rest):
		return false
	default:
		p.closePairs()
		return true
	}
	key, behind, ok := strings.Cut(rest[len(keyBegin):], keyEnd)
	if !ok {
		return len(rest) > maxHeader && p.broken()
	}
	value := strings.TrimLeft(behind, space)
	if !strings.HasPrefix(value, valueBegin) {
		return !strings.HasPrefix(valueBegin, value) && p.broken()
	}
	key, value = strings.TrimSpace(key), value[len(valueBegin):]
	types := p.call.tool[key]
	if slices.Equal(types, []string{"string"}) {
		p.key(key)
		p.argument(`"`)
		p.take(len(p.held) - len(value))
		p.where = inLiteral
		return true
	}
	value, behind, ok = strings.Cut(value, valueEnd)
	if !ok {
		return false
	}
	p.key(key)
	p.argument(types.json(value))
	p.take(len(p.held) - len(behind))
	return true
}

// key begins a pair.
func (p *Parser) key(key string) {
	open := "{"
	if p.call.pairs > 0 {
		open = ", "
	}
	p.call.pairs++
	p.argument(open + quote(key) + ": ")
}

// literal passes on the text of a string.
func (p *Parser) literal() bool {
	at := strings.Index(p.held, valueEnd)
	if at < 0 {
		n := len(p.held) - partial(p.held, []string{valueEnd})
		p.argument(inner(p.take(n)))
		return false
	}
	p.argument(inner(p.take(at)) + `"`)
	p.take(len(valueEnd))
	p.where = inPairs
	return true
}

// broken ends a call whose text goes on with something else.
func (p *Parser) broken() bool {
	p.closePairs()
	return true
}

// closePairs closes the object.
func (p *Parser) closePairs() {
	if p.call.pairs == 0 {
		p.argument("{")
	}
	p.argument("}")
	p.finish()
}

// quote is a JSON string; inner what stands between its quotes.
func quote(text string) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // strings are never refused
	return strings.TrimSuffix(out.String(), "\n")
}

func inner(text string) string {
	text = quote(text)
	return text[1 : len(text)-1]
}

// tool is the types of a tool's arguments, by their names.
type tool map[string]types

// types are JSON schema's; none: any.
type types []string

// json is the JSON text of a value that the model wrote: itself where it is JSON of an
// allowed type, else a string.
func (t types) json(value string) string {
	text := strings.TrimSpace(value)
	if !json.Valid([]byte(text)) || len(t) > 0 && slices.Contains(t, "string") && !slices.Contains(t, typeOf(text)) {
		return quote(value)
	}
	return text
}

// typeOf is the type of a JSON value by its first letter.
func typeOf(text string) string {
	switch text[0] {
	case '"':
		return "" // quotes are part of a string that stands without quotes
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(text, ".eE") {
		return "number"
	}
	return "integer"
}

// declared are the tools by their names. What cannot be read has no types.
func declared(list []json.RawMessage) map[string]tool {
	out := map[string]tool{}
	for _, text := range list {
		var d struct {
			Function struct {
				Name       string `json:"name"`
				Parameters struct {
					Properties map[string]struct {
						Type json.RawMessage `json:"type"`
					} `json:"properties"`
				} `json:"parameters"`
			} `json:"function"`
		}
		_ = json.Unmarshal(text, &d) // as far as it goes
		t := tool{}
		for key, property := range d.Function.Parameters.Properties {
			var one string
			var many []string
			if json.Unmarshal(property.Type, &one) == nil && one != "" {
				many = []string{one}
			} else if json.Unmarshal(property.Type, &many) != nil {
				continue
			}
			if slices.Contains(many, "number") {
				many = append(many, "integer")
			}
			t[key] = many
		}
		if d.Function.Name != "" {
			out[d.Function.Name] = t
		}
	}
	return out
}
