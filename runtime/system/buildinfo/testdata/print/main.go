// Command print says what it was built from.
package main

import (
	"fmt"

	"mla/runtime/system/buildinfo"
)

func main() { fmt.Println(buildinfo.Line("print")) }
