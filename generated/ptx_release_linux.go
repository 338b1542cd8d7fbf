//go:build release

package generated

import "embed"

// The kernels of larger models would double the size of a program for users, of whom few have
// such a GPU. They lie beside it.
//
//go:embed tinyglm/tinyglm.ptx.gz
var ptxFiles embed.FS
