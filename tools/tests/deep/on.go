//go:build deep

package deep

// On reports whether the deep tier runs.
const On = true
