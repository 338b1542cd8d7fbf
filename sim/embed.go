// Package sim contains substitutes for Metal on machines without it: exec compiles Metal source for the CPU
// and runs it, metal is a library with Metal's Objective-C classes. Both are C++. This package embeds the
// sources of exec for gen/msl/execute, which builds them.
package sim

import "embed"

// Exec contains the folder exec.
//
//go:embed exec
var Exec embed.FS
