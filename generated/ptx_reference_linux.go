//go:build !release

package generated

import "embed"

//go:embed */reference/*.ptx.gz
var referencePTX embed.FS

func init() { ptxFiles["*/reference/"] = referencePTX }
