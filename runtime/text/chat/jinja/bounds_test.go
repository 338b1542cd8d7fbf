package jinja

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mla/tools/tests/processor"
	"mla/tools/tests/race"
)

// hostile renders a template within bounds of time and memory; what it makes of it does not
// matter, unless it is a fault of this package.
func hostile(t *testing.T, template string) (string, error) {
	t.Helper()
	vars := map[string]Value{"messages": NewList(NewDict("role", "user", "content", "hi")), "tools": nil}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := processor.Time(t)
	text, err := render(template, vars)
	took := processor.Time(t) - begin
	runtime.ReadMemStats(&after)
	// All that was made, not what was there at once. The factor is for what a value takes
	// beside what is counted, and for copies while buffers grow.
	if made := after.TotalAlloc - before.TotalAlloc; made > 4*baseMemory && !race.On {
		t.Errorf("%.80s: made %d MiB", template, made>>20)
	}
	// Less than a second, but for emulated and very slow processors.
	if took > 10*time.Second && !race.On {
		t.Errorf("%.80s: took %v", template, took)
	}
	if err != nil && strings.Contains(err.Error(), engineFailed) {
		t.Errorf("%.80s: %v", template, err)
	}
	return text, err
}

// TestAttacks has templates that once killed the process, or did not end.
func TestAttacks(t *testing.T) {
	files, err := filepath.Glob("testdata/attack/*.j2")
	if err != nil || len(files) < 27 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	harmless := map[string]bool{"joinm": true, "format": true, "split2": true, "slice": true, "minint": true, "rangeoverflow": true, "pow": true}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := hostile(t, string(source))
		if name := strings.TrimSuffix(filepath.Base(file), ".j2"); err == nil && !harmless[name] {
			t.Errorf("%s: %.100q; expected an error", name, text)
		}
	}
}

// TestBounds checks that a template which builds up large values is refused in time.
func TestBounds(t *testing.T) {
	loop := func(body string) string {
		return "{% set ns = namespace(x='aaaaaaaaaa', l=[1], d={}) %}{% for i in range(100000) %}{% for j in range(100000) %}" + body + "{% endfor %}{% endfor %}"
	}
	const memory, deep = "too much memory", "nested more than"
	const limit = "the template takes too m" // much memory or many steps
	for template, want := range map[string]string{
		// Values that contain themselves.
		"{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}":                                        deep,
		"{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns.a }}":                                    deep,
		"{% set l = [] %}{% do l.append(l) %}{{ l|tojson }}":                                           deep,
		"{% set l = [] %}{% do l.append(l) %}{% set m = [] %}{% do m.append(m) %}{{ l == m }}":         deep,
		"{% set d = {} %}{% do d.update(a=d) %}{{ d|tojson }}":                                         deep,
		"{% set d = {} %}{% do d.update(a=d) %}{% set e = {} %}{% do e.update(a=e) %}{{ d == e }}":     deep,
		"{% set l = [] %}{% do l.append(l) %}{% set m = [] %}{% do m.append(m) %}{{ l < m }}":          deep,
		"{% set l = [1] %}{% do l.append(l) %}{{ l|join }}":                                            deep,
		"{% set l = [] %}{% do l.append((l,)) %}{{ {l[0]: 1} }}":                                       "unhashable",
		"{% set l = [1] %}{% do l.extend(l) %}{{ l }}":                                                 "",
		"{% set l = [1] %}{% for x in l %}{% do l.append(x) %}{% endfor %}":                            limit,
		"{% set l = [1, 2] %}{% for i in range(70) %}{% set _ = l.append(l + l) %}{% endfor %}{{ l }}": limit,
		// Few words for much text.
		"{{ 'a' * 10000000000 }}":                                      memory,
		"{{ [1] * 10000000000 }}":                                      memory,
		"{{ (1, 2) * 9223372036854775807 }}":                           memory,
		"{{ '' * 9223372036854775807 }}{{ [] * 9223372036854775807 }}": "",
		"{{ 'a'.rjust(9223372036854775807) }}":                         memory,
		"{{ '%9223372036854775807s' % 'a' }}":                          memory,
		"{{ '%99999999999999999999s' % 'a' }}":                         "too large",
		"{{ '%.999999999f' % 1.5 }}":                                   memory,
		"{{ '{:999999999}'.format(1) }}":                               memory,
		"{{ '{:.999999999f}'.format(1.5) }}":                           memory,
		"{{ '%.999999999d' % 1 }}":                                     memory,
		"{{ 'a\tb'.expandtabs(9223372036854775807) }}":                 memory,
		"{{ ('a\nb' * 1000)|indent(9999999) }}":                        memory,
		"{{ [1]|tojson(indent=9999999999) }}":                          memory,
		"{{ ('a' * 10000000)|replace('', 'aaaaaaaaaaaaaaaa') }}":       memory,
		"{{ range(100000)|join('a' * 100000) }}":                       memory,
		"{{ ['a' * 100000] * 1000 }}":                                  memory,
		"{{ ([['a' * 100000] * 100] * 100)|string }}":                  memory,
		"{{ ('a ' * 10000000).split() }}":                              limit,
		"{{ ('a' * 10000000)|list }}":                                  memory,
		"{{ [1]|batch(999999999, 'x')|list }}":                         memory,
		"{{ [1]|slice(999999999)|list }}":                              limit,
		"{{ '{0}{0}{0}{0}'.format('a' * 30000000) }}":                  memory,
		"{{ 10 ** (10 ** 10) }}":                                       "bits",
		"{{ (2 ** 16000) ** 2 }}":                                      "bits",
		"{{ 2 ** 16000 }}":                                             "4300 digits",
		"{{ 2 ** -99999999999999999999 }}":                             "",
		// Growth in loops.
		loop("{% set ns.x = ns.x ~ ns.x %}"):                                        limit,
		loop("{% set ns.x = ns.x + ns.x %}"):                                        limit,
		loop("{% set ns.x = [ns.x, ns.x]|join %}"):                                  limit,
		loop("{% set ns.x = ns.x|replace('a', 'aa') %}"):                            limit,
		loop("{% set ns.x = '%s%s'|format(ns.x, ns.x) %}"):                          limit,
		loop("{% set ns.l = ns.l + ns.l %}"):                                        limit,
		loop("{% do ns.l.extend(ns.l) %}"):                                          limit,
		loop("{% do ns.d.update({i ~ '-' ~ j: 1}) %}"):                              limit,
		loop("{% set ns.l = [ns.l] %}"):                                             limit,
		loop("{% set x %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = x %}"):       limit,
		loop("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"): limit,
		loop("{% set ns.x = ns.x|map('upper')|list %}"):                             limit,
		// Work without growth.
		loop(""):                   limit,
		loop("{{ '' if i == j }}"): limit,
		"{% set l = range(100000)|list %}{% for i in l %}{{ i in [-1] + l[:0] }}{{ -1 in l }}{% endfor %}":                                         limit,
		"{% set s = 'ab' * 1000000 %}{% for i in range(100000) %}{% set _ = 'abc' in s %}{% endfor %}":                                             limit,
		"{% set s = 'ab' * 1000000 %}{% for i in range(100000) %}{% set _ = s|length %}{% endfor %}":                                               limit,
		"{% set s = 'ab' * 1000000 %}{% for i in range(100000) %}{% set _ = s[i] %}{% endfor %}":                                                   limit,
		"{% set s = ' ' * 1000000 %}{% for i in range(100000) %}{% set _ = s.strip() %}{% endfor %}":                                               limit,
		"{% set l = range(100000)|list %}{% for i in range(100000) %}{% do l.insert(0, l.pop()) %}{% endfor %}":                                    limit,
		"{% set d = {} %}{% for i in range(50000) %}{% do d.update({i: i}) %}{% endfor %}{% for i in range(50000) %}{% do d.pop(i) %}{% endfor %}": limit,
		"{% macro f(n) %}{{ f(n - 1) ~ f(n - 1) if n > 0 }}{% endmacro %}{{ f(99) }}":                                                              limit,
		"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}":                                                                                          deep,
		"{% macro f() %}{{ caller() }}{% endmacro %}{% macro g() %}{% call f() %}{{ g() }}{% endcall %}{% endmacro %}{{ g() }}":                    deep,
		"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}":                                                                                  deep,
		"{{ missing" + strings.Repeat(" or missing", 3000) + " }}":                                                                                 deep,
		"{{ 1" + strings.Repeat(" + 1", 15000) + " }}":                                                                                             deep,
		"{{ 'a'" + strings.Repeat("|upper", 8000) + " }}":                                                                                          deep,
		"{{ 'a'" + strings.Repeat(" ~ 'a'", 8000) + " }}":                                                                                          "",
		"{{ 'a'" + strings.Repeat(" 'a'", 15000) + " }}":                                                                                           "",
		"{% if 0 %}" + strings.Repeat("{% elif 0 %}", 5000) + "{% endif %}":                                                                        "",
		"{{ 1" + strings.Repeat(" < 2", 9000) + " }}":                                                                                              "",
		// The text of the template.
		"{{ " + strings.Repeat("(", 32000) + "1" + strings.Repeat(")", 32000) + " }}":     deep,
		"{{ " + strings.Repeat("[", 32000) + strings.Repeat("]", 32000) + " }}":           deep,
		"{{ " + strings.Repeat("{1:", 15000) + strings.Repeat("}", 15000) + " }}":         deep,
		"{{ " + strings.Repeat("-", 60000) + "1 }}":                                       deep,
		"{% set x = " + strings.Repeat("not ", 15000) + "1 %}":                            deep,
		"{{ " + strings.Repeat("1 if 1 else ", 5000) + "1 }}":                             deep,
		"{{ x" + strings.Repeat("[x", 20000) + strings.Repeat("]", 20000) + " }}":         deep,
		"{{ f" + strings.Repeat("(f", 20000) + strings.Repeat(")", 20000) + " }}":         deep,
		"{% set " + strings.Repeat("(", 20000) + "a" + strings.Repeat(")", 20000) + " %}": deep,
		strings.Repeat("{% if 1 %}", 6000):                                                deep,
		strings.Repeat("{% set x %}", 5000):                                               deep,
		strings.Repeat("{% macro f() %}", 4000):                                           deep,
		strings.Repeat("x", MaxSource+1):                                                  "at most 65536",
		strings.Repeat("{{", 30000):                                                       "no end",
		strings.Repeat("{#", 30000):                                                       "no end",
		strings.Repeat("{% raw %}", 7000):                                                 "no end",
		strings.Repeat("{{ x }}", 9000):                                                   "",
	} {
		text, err := hostile(t, template)
		switch {
		case want == "" && err != nil:
			t.Errorf("%.150s: %v", template, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.150s: %.50q, %v; expected %q", template, text, err, want)
		}
	}
}

// TestContext: a rendering ends with its context, and says so.
func TestContext(t *testing.T) {
	parsed, err := Parse("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := parsed.Render(ctx, nil, testTime); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := parsed.Render(ctx, nil, testTime); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not done in time") {
		t.Errorf("%v", err)
	}
}

// TestLongConversations: limits grow with what the client sends.
func TestLongConversations(t *testing.T) {
	messages := make([]Value, 60000)
	for i := range messages {
		messages[i] = NewDict("role", "user", "content", "message <think> well </think> end")
	}
	template := `{% set ns = namespace(last=0) %}{% for m in messages %}{% if m.role == 'user' and loop.index0 >= 0 %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{% for m in messages %}{% set c = m.content %}{% if '</think>' in c %}{% set c = c.split('</think>')[-1].lstrip('\n') %}{% endif %}<|{{ m.role }}|>{{ c.strip() + '\n' }}{% endfor %}`
	text, err := render(template, map[string]Value{"messages": NewList(messages...)})
	if err != nil || strings.Count(text, "<|user|>end\n") != len(messages) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	big := NewDict("a", strings.Repeat("x", 8<<20))
	text, err = render(`{% macro visible(x) %}{{ x }}{% endmacro %}{% for k, v in d.items() %}{{ k }}{{ visible(v).strip() ~ '!' }}{{ v|tojson }}{% endfor %}`, map[string]Value{"d": big})
	if err != nil || len(text) < 16<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// TestSeveralAtOnce: one template is rendered by several goroutines.
func TestSeveralAtOnce(t *testing.T) {
	parsed, err := Parse("{% set l = [] %}{% for i in range(1000) %}{% do l.append(i) %}{% endfor %}{{ l|length }}{{ x }}")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	for i := range 4 {
		go func() {
			text, err := parsed.Render(context.Background(), map[string]Value{"x": i}, testTime)
			if err != nil {
				text = err.Error()
			}
			done <- text
		}()
	}
	sum := ""
	for range 4 {
		sum += <-done
	}
	for _, want := range []string{"10000", "10001", "10002", "10003"} {
		if !strings.Contains(sum, want) {
			t.Errorf("%s lacks %s", sum, want)
		}
	}
}
