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

// finder looks for bundles where a command line allows it.
func (f *flags) finder() *bundles.Finder {
	if f.found == nil {
		f.found = &bundles.Finder{Program: f.env.bundles, Folder: f.env.folder, Note: f.say}
		if f.env.maker != nil && !f.looking {
			f.found.Make = f.make
		}
	}
	return f.found
}

// make has the compiler make a bundle file for a model that no bundle fits.
func (f *flags) make(file *gguf.File, act string) (string, error) {
	m := *f.env.maker
	m.Note = f.say
	ctx, stop := interruptible()
	defer stop()
	return m.Make(ctx, file, act)
}

// noteMisfit says with -v what the closest bundle differs in, if none fits.
func (f *flags) noteMisfit(err error) {
	var misfit *bind.FitError
	if errors.As(err, &misfit) && !misfit.Asked && f.isVerbose() {
		f.note("%s", misfit.Closest())
	}
}

// isVerbose says whether the command has -v, and it is given.
func (f *flags) isVerbose() bool {
	v := f.Lookup("v")
	return v != nil && v.Value.String() == "true"
}

// from says which file a bundle is from, for messages.
func (f *flags) from(b *plan.Bundle) string {
	if file := f.finder().FileOf(b); file != nil {
		return " of " + file.Path
	}
	return ""
}

// withLibrary is a device like d, which is a Metal device, that takes the library which
// Apple's compiler made and a bundle file holds, unless -metallib says where others are.
// What is kept of it lies beside it.
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
