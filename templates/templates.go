// Package templates holds the text of the Metal kernels: a prelude, one
// template per part of a kernel and one per quant format. gen/msl fills them in.
package templates

import "embed"

// MSL is the folder msl: the part templates, under msl/quant one file per format, named after
// quant.Format.Name, and under msl/weights what all formats are read with.
//
//go:embed msl
var MSL embed.FS
