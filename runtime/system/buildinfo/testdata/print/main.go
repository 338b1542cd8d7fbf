// Command print prints its own build information.
package main

import (
	"fmt"

	"mla/runtime/system/buildinfo"
)

func main() { fmt.Println(buildinfo.Line("print")) }
