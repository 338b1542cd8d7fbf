// Package verify finds what is wrong with a bundle before anything of it runs. The
// compiler holds its kernels to it (Kernel), and a bundle from a file, which may be
// damaged or hostile, is held to all of it (Bundle):
//
//   - dimensions, and what sizes follow from them, are within limits;
//   - a kernel's slots have the spaces and element types that its parts take for granted,
//     its threadgroups the threads, and its variants types that there are (kernel.go);
//   - slots are marked as written that parts write, and nothing of a kernel reads or writes
//     what something else of it writes, since its threadgroups run side by side (slots.go);
//   - every operand of every dispatch lies inside its buffer and holds all that the parts
//     reach (reach.go, operand.go);
//   - dispatches wait for those whose results they read, and a part of the same sequence
//     has written whatever is used as an index, as one (flow.go).
//
// So the loops of the CPU device, which are made of the plan's numbers alone, touch
// nothing but their buffers, and kernels that compute what the plan says they do neither.
// What is in the text of a kernel is not looked at: it is code, which GPUs run.
package verify
