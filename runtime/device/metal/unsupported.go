package metal

import (
	"errors"
	"fmt"
)

// unsupported is an error that says what a GPU or a system cannot do, and not
// that something is broken: it is errors.ErrUnsupported.
type unsupported struct{ error }

func (u unsupported) Unwrap() []error { return []error{u.error, errors.ErrUnsupported} }

// failure is what it means that a pipeline could not be made: on a virtual GPU, which
// passes for an older one than the kernels need, only that it is not able (rule 15).
func (i *Info) failure(err error) error {
	if err == nil || !i.Virtual {
		return err
	}
	return unsupported{fmt.Errorf("the virtual GPU is not able to run it: %w", err)}
}
