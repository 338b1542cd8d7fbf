package metal

import "errors"

// unsupported is an error that says what a GPU or a system cannot do, and not
// that something is broken: it is errors.ErrUnsupported.
type unsupported struct{ error }

func (u unsupported) Unwrap() []error { return []error{u.error, errors.ErrUnsupported} }
