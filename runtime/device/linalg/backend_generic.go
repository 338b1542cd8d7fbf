//go:build !amd64 && !arm64

package linalg

// backends lists the back ends of this machine, best first.
func backends() []*backend { return []*backend{&goBackend} }
