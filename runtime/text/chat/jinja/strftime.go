package jinja

import (
	"fmt"
	"strings"
	"time"
)

// directives is strftime's directives in the C locale.
var directives = map[string]func(t time.Time) string{
	"a": layout("Mon"), "A": layout("Monday"), "b": layout("Jan"), "h": layout("Jan"), "B": layout("January"),
	"d": layout("02"), "e": layout("_2"), "j": layout("002"), "m": layout("01"), "y": layout("06"), "Y": layout("2006"),
	"H": layout("15"), "I": layout("03"), "M": layout("04"), "S": layout("05"), "p": layout("PM"), "P": layout("pm"),
	"z": numericZone, "Z": zoneName, "D": layout("01/02/06"), "F": layout("2006-01-02"), "R": layout("15:04"), "T": layout("15:04:05"),
	"r": layout("03:04:05 PM"), "c": layout("Mon Jan _2 15:04:05 2006"), "x": layout("01/02/06"), "X": layout("15:04:05"),
	"n": layout("\n"), "t": layout("\t"), "%": layout("%"),
	"-d": number10("%d", time.Time.Day), "-m": number10("%d", func(t time.Time) int { return int(t.Month()) }),
	"-H": number10("%d", time.Time.Hour), "-I": number10("%d", hour12), "-M": number10("%d", time.Time.Minute),
	"-S": number10("%d", time.Time.Second), "-j": number10("%d", time.Time.YearDay), "-e": number10("%d", time.Time.Day),
	"-y": number10("%d", func(t time.Time) int { return t.Year() % 100 }),
	"k":  number10("%2d", time.Time.Hour), "l": number10("%2d", hour12), "C": number10("%02d", func(t time.Time) int { return t.Year() / 100 }),
	"w": number10("%d", func(t time.Time) int { return int(t.Weekday()) }),
	"u": number10("%d", func(t time.Time) int { return int(t.Weekday()+6)%7 + 1 }),
	"U": number10("%02d", func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 }),
	"W": number10("%02d", func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday()+6)%7) / 7 }),
	"V": number10("%02d", func(t time.Time) int { _, week := t.ISOWeek(); return week }),
	"G": number10("%d", func(t time.Time) int { year, _ := t.ISOWeek(); return year }),
	"f": number10("%06d", func(t time.Time) int { return t.Nanosecond() / 1000 }),
	"s": func(t time.Time) string { return fmt.Sprint(t.Unix()) },
}

func layout(layout string) func(t time.Time) string {
	return func(t time.Time) string { return t.Format(layout) }
}

func number10(format string, get func(t time.Time) int) func(t time.Time) string {
	return func(t time.Time) string { return fmt.Sprintf(format, get(t)) }
}

func hour12(t time.Time) int { return (t.Hour()+11)%12 + 1 }

// numericZone and zoneName are empty, as transformers uses a time without a zone.
func numericZone(time.Time) string { return "" }
func zoneName(time.Time) string    { return "" }

// strftime formats a time as Python does.
func strftime(t time.Time, format string) string {
	var out strings.Builder
	for {
		text, rest, found := strings.Cut(format, "%")
		out.WriteString(text)
		if !found {
			return out.String()
		}
		n := min(1, len(rest))
		if strings.HasPrefix(rest, "-") {
			n = min(2, len(rest))
		}
		write := directives[rest[:n]]
		if write == nil {
			fail("strftime_now: the directive %%%s is not supported", rest[:n])
		}
		out.WriteString(write(t))
		format = rest[n:]
	}
}

// strftimeNow is strftime_now(format), as Hugging Face's templates have it.
func strftimeNow(s *state, a args) Value {
	format := s.text("strftime_now", s.bind("strftime_now", a, "format")[0])
	s.charge(times(len(format), 16))
	return strftime(s.now, format)
}
