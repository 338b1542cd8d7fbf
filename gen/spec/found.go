package spec

import (
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Found says where a value of a tuning comes from.
type Found struct {
	Device string  // the device that the value was measured on
	Date   string  // year-month-day of the measurement
	Gain   float64 // percent of the kernel's time that the value saves
	Why    string
}

// String returns device, date and gain on one line; "" if nothing is known.
func (f *Found) String() string {
	var parts []string
	if f.Device != "" {
		parts = append(parts, "found on "+f.Device)
	}
	if f.Date != "" {
		parts = append(parts, f.Date)
	}
	if f.Gain != 0 {
		parts = append(parts, fmt.Sprintf("−%g %% of the time", f.Gain))
	}
	return strings.Join(parts, ", ")
}

// maxWhy is the length of the longest reason, in bytes.
const maxWhy = 1000

// foundFields are the keys of a Found.
func foundFields(f *Found) []field {
	return []field{
		optional(text("device", &f.Device)),
		optional(dateField("date", &f.Date)),
		optional(number("gain", &f.Gain, -100, 100)),
		optional(textUpTo("why", &f.Why, maxWhy)),
	}
}

// dateField is a key with a day.
func dateField(key string, dst *string) field {
	return field{key: key, decode: func(d *decoder, n *yaml.Node, path string) bool {
		if _, err := time.Parse(time.DateOnly, n.Value); err != nil || !isScalar(n, "!!str", "!!timestamp") {
			d.errorf(n, "%s is %s; expected a day such as 2026-11-24", path, describe(n))
			return false
		}
		*dst = n.Value
		return true
	}}
}
