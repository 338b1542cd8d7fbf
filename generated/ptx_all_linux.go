//go:build !release

package generated

import "embed"

//go:embed */*.ptx.gz */reference/*.ptx.gz
var ptxFiles embed.FS
