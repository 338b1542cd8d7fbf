// Package cu is a thin binding of NVIDIA's driver API: libcuda.so.1, which comes
// with the driver, opened through purego. No toolkit and no C compiler is needed.
//
// table.go lists every function with its signature and the first driver that has
// it; a test holds the Go declarations in register.go to that table, and the
// library that stands in for the driver where there is no GPU exports exactly it.
// The other files wrap the functions into methods that return errors.
//
// A [Context] is current on one OS thread at a time: calls that need one are made
// inside [Context.Do].
package cu
