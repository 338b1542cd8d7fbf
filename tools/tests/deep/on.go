//go:build deep

package deep

// On says that the deep tier runs.
const On = true
