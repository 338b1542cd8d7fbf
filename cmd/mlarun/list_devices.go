package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"mla/runtime/doctor/stages"
)

// deviceKinds are all kinds of devices, in the order of the list.
var deviceKinds = []string{"cpu", "cuda", "metal"}

// foundDevice is a line of the list of devices.
type foundDevice struct {
	Device string            `json:"device"` // a value of -device
	Auto   bool              `json:"auto"`   // -device auto uses this device
	Facts  map[string]string `json:"facts,omitempty"`
	Lacks  string            `json:"lacks,omitempty"` // why the device is missing; "": it is present

	order []string // order of the facts
}

// listDevices prints the devices on which this machine can run models.
func listDevices(e *env, args []string) error {
	f := &doctorFlags{flags: newFlags(e, "mlarun devices", "[-o text|json] [flags]").running()}
	format := f.String("o", "text", "output `format`: text or json")
	rest, err := f.parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return f.wrong("unexpected argument %q", rest[0])
	case *format != "text" && *format != "json":
		return f.wrong("-o is %q; expected text or json", *format)
	}
	list, err := f.found()
	if err != nil {
		return err
	}
	if *format == "json" {
		return writeJSON(e.out, "", list)
	}
	return writeDevices(e.out, list)
}

// found looks for every kind of device.
func (f *doctorFlags) found() (list []foundDevice, err error) {
	auto := ""
	for _, kind := range f.env.auto {
		if !f.mayBe(kind) {
			continue
		}
		if _, err := f.env.devices[kind](f.flags); err == nil {
			auto = kind
			break
		}
	}
	for _, kind := range deviceKinds {
		one := foundDevice{Device: kind, Auto: kind == auto}
		p, err := patients[kind](f)
		if err != nil {
			one.Lacks = err.Error()
			list = append(list, one)
			continue
		}
		one.Facts = map[string]string{}
		for _, fact := range p.Facts {
			one.Facts[fact.Name] = fact.Value
			one.order = append(one.order, fact.Name)
		}
		list = append(list, one)
	}
	return list, nil
}

// writeDevices writes the list as text.
func writeDevices(w io.Writer, list []foundDevice) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range list {
		if d.Lacks != "" {
			fmt.Fprintf(table, "-device %s: not here: %s\n", d.Device, d.Lacks)
			continue
		}
		auto := ""
		if d.Auto {
			auto = " (what -device auto takes)"
		}
		fmt.Fprintf(table, "-device %s%s\n", d.Device, auto)
		for _, name := range slices.DeleteFunc(d.order, func(name string) bool { return name == stages.UsedDevice && d.Facts[name] == d.Device }) {
			fmt.Fprintf(table, "  %s\t%s\n", name, d.Facts[name])
		}
	}
	return table.Flush()
}
