package metal

import (
	"errors"
	"fmt"
)

// unsupported is an error that says what a GPU or a system does not support, as opposed to a fault. It is
// errors.ErrUnsupported.
type unsupported struct{ error }

func (u unsupported) Unwrap() []error { return []error{u.error, errors.ErrUnsupported} }

// failure classifies the error of a pipeline. On a virtual GPU, which reports an older family than the
// kernels need, it only means that the feature is not supported (rule 15).
func (i *Info) failure(err error) error {
	if err == nil || !i.Virtual {
		return err
	}
	return unsupported{fmt.Errorf("the virtual GPU is not able to run it: %w", err)}
}
