//go:build !amd64

package quant

// backends lists the back ends of this machine, best first.
func backends() []*backend { return []*backend{&goBackend} }
