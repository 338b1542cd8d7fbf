package main

import (
	"errors"

	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
)

// finder returns a Finder that looks for bundles in the places that a command line allows.
func (f *flags) finder() *bundles.Finder {
	if f.found == nil {
		f.found = &bundles.Finder{Program: f.env.bundles, Folder: f.env.folder, Note: f.say}
		if f.env.maker != nil && !f.looking {
			f.found.Make = f.make
		}
	}
	return f.found
}

// make has the compiler write a bundle file for a model without a bundle.
func (f *flags) make(file *gguf.File, act string) (string, error) {
	m := *f.env.maker
	m.Note = f.say
	ctx, stop := interruptible()
	defer stop()
	return m.Make(ctx, file, act)
}

// noteMisfit prints, with -v, the differences from the closest bundle if none fits.
func (f *flags) noteMisfit(err error) {
	var misfit *bind.FitError
	if errors.As(err, &misfit) && !misfit.Asked && f.isVerbose() {
		f.note("%s", misfit.Closest())
	}
}

// isVerbose says whether the command has the flag -v, and it is set.
func (f *flags) isVerbose() bool {
	v := f.Lookup("v")
	return v != nil && v.Value.String() == "true"
}

// from says which file a bundle comes from, for messages.
func (f *flags) from(b *plan.Bundle) string {
	if file := f.finder().FileOf(b); file != nil {
		return " of " + file.Path
	}
	return ""
}

// withLibrary returns a Metal device like d that uses the library in a bundle file, which Apple's compiler
// made, unless -metallib names other libraries. Files derived from
// the library are kept beside it.
func (f *flags) withLibrary(d device.Device, b *plan.Bundle) (device.Device, error) {
	if _, is := d.(*metal.Device); !is || f.metallib != "" {
		return d, nil
	}
	folder, err := f.finder().MetalLibrary(b, metal.CacheFolder())
	if err != nil {
		f.note("%v\nso the kernels are compiled from source\n", err)
	}
	if folder == "" || err != nil {
		return d, nil
	}
	options := metalOptions(f)
	options.Compiled, options.Cache = folder, folder
	return metal.Open(options)
}
