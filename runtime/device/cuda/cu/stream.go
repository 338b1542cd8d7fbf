package cu

import (
	"errors"
	"time"
)

// Stream is a queue of work that runs in order. Different streams run concurrently.
type Stream struct{ handle handle }

// streamNonBlocking is CU_STREAM_NON_BLOCKING: the stream is not ordered with the null stream, which is not
// used.
const streamNonBlocking = 1

// NewStream creates a stream.
func NewStream() (s Stream, err error) {
	err = check("cuStreamCreate", api.streamCreate(&s.handle, streamNonBlocking))
	return s, err
}

// Wait waits for all work of the stream, and returns its first error.
func (s Stream) Wait() error { return check("cuStreamSynchronize", api.streamWait(s.handle)) }

// After makes later work of the stream wait for the last recording of an event, which may be of another
// stream.
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

// Event is a point in a stream, with the time at which the stream has passed it.
type Event struct{ handle handle }

// NewEvent makes an event.
func NewEvent() (e Event, err error) {
	err = check("cuEventCreate", api.eventCreate(&e.handle, 0))
	return e, err
}

// Record places the event after the work that the stream has so far.
func (e Event) Record(s Stream) error {
	return check("cuEventRecord", api.eventRecord(e.handle, s.handle))
}

// Wait waits until the stream has passed the event. It returns at once if the event was never recorded.
func (e Event) Wait() error { return check("cuEventSynchronize", api.eventWait(e.handle)) }

// Since is the time between two events that have passed.
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
