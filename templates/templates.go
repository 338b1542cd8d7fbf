// Package templates holds the text of the Metal kernels; gen/msl makes sources of it. In msl/lib is
// what bundles share, as Metal: the prelude, below weights what all formats are read with, below
// quant a file per format, named after quant.Format.Name, and what several kernels call. In
// msl/parts is a template for each part of a kernel.
package templates

import "embed"

// MSL is the folder msl.
//
//go:embed msl
var MSL embed.FS
