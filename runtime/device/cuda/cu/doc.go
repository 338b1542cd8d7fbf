// Package cu is a thin binding of NVIDIA's driver API: libcuda.so.1, which comes
// with the driver, opened through purego. No toolkit and no C compiler is needed.
//
// table.go lists every function with its signature and the first driver that has it. A test compares the Go
// declarations in register.go with that table. sim/cuda, which replaces the driver on machines without a GPU,
// exports exactly these functions. The other files wrap the functions into methods that return errors.
//
// A [Context] is bound to one OS thread at a time. Calls that need one are made inside [Context.Do].
package cu
