// Package verify checks a bundle before any of it runs. The compiler checks its kernels (Kernel). A bundle
// from a file, which may be damaged or hostile, is checked completely (Bundle):
//
//   - dimensions, and what sizes follow from them, are within limits;
//   - a kernel's slots have the spaces and element types that its parts assume, its
//     threadgroups have the threads, and its variants have known types (kernel.go);
//   - exactly the slots that parts write are marked as written, and no part of a kernel reads
//     or writes memory that another part or threadgroup of it writes, as they run in parallel
//     (slots.go);
//   - every operand of every dispatch is inside its buffer and as large as the parts need
//     (reach.go, operand.go);
//   - dispatches wait for those whose results they read, and every index was written as an
//     index by a part of the same sequence (flow.go).
//
// So the loops of the CPU device, which follow the plan's numbers only, touch nothing outside of their
// buffers. The same holds for a GPU kernel that computes what the plan says. The text of a kernel is not
// checked: it is code, which GPUs run.
package verify
