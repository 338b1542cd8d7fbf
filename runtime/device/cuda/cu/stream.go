package cu

import (
	"errors"
	"time"
)

// Stream is a queue of work that runs in order. Streams run beside each other.
type Stream struct{ handle handle }

// streamNonBlocking is CU_STREAM_NON_BLOCKING: not ordered with the null stream,
// which nobody uses.
const streamNonBlocking = 1

// NewStream makes a stream.
func NewStream() (s Stream, err error) {
	err = check("cuStreamCreate", api.streamCreate(&s.handle, streamNonBlocking))
	return s, err
}

// Wait waits for all work of the stream, and returns the error of any.
func (s Stream) Wait() error { return check("cuStreamSynchronize", api.streamWait(s.handle)) }

// After makes what the stream gets from now on wait for an event, which may be one
// of another stream, as it was last recorded.
func (s Stream) After(e Event) error {
	return check("cuStreamWaitEvent", api.streamAfter(s.handle, e.handle, 0))
}

// Destroy waits for all work of the stream and frees it.
func (s Stream) Destroy() error {
	if s.handle == 0 {
		return nil
	}
	return errors.Join(s.Wait(), check("cuStreamDestroy_v2", api.streamDestroy(s.handle)))
}

// Event is a point in a stream, with the time when it was passed.
type Event struct{ handle handle }

// NewEvent makes an event.
func NewEvent() (e Event, err error) {
	err = check("cuEventCreate", api.eventCreate(&e.handle, 0))
	return e, err
}

// Record puts the event after what the stream has now.
func (e Event) Record(s Stream) error {
	return check("cuEventRecord", api.eventRecord(e.handle, s.handle))
}

// Wait waits until the event is passed; one that was never recorded is.
func (e Event) Wait() error { return check("cuEventSynchronize", api.eventWait(e.handle)) }

// Since is the time between two events that are passed.
func (e Event) Since(earlier Event) (time.Duration, error) {
	var ms float32
	err := check("cuEventElapsedTime", api.eventElapsed(&ms, earlier.handle, e.handle))
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

// Destroy frees the event.
func (e Event) Destroy() error {
	if e.handle == 0 {
		return nil
	}
	return check("cuEventDestroy_v2", api.eventDestroy(e.handle))
}
