package recordfile

import (
	"context"
	"runtime"
)

// maxReaders is how many records are read concurrently. Copying from the page cache and checksums keep that
// many cores busy before memory bandwidth is the limit.
const maxReaders = 4

// Each calls visit with records from … to-1 in order, while later ones are read. A record is valid until
// visit returns. An error of visit ends the calls.
func (f *File) Each(ctx context.Context, from, to int, visit func(i int, record []byte) error) error {
	type read struct {
		record []byte
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	readers := min(runtime.GOMAXPROCS(0), maxReaders, to-from)
	results := make([]chan read, max(readers, 0)) // one for every readers-th record
	free := make([]chan []byte, len(results))
	done := make(chan struct{}, len(results))
	defer func() {
		cancel()
		for range results {
			<-done
		}
	}()
	for r := range results {
		results[r], free[r] = make(chan read), make(chan []byte, 2)
		free[r] <- f.Buffer()
		free[r] <- f.Buffer()
		go func() {
			defer func() { done <- struct{}{} }()
			for i := from + r; i < to; i += readers {
				var buffer []byte
				select {
				case buffer = <-free[r]:
				case <-ctx.Done():
					return
				}
				record, err := f.Read(i, buffer)
				select {
				case results[r] <- read{record, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for i := from; i < to; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := (i - from) % readers
		var got read
		select {
		case got = <-results[r]:
		case <-ctx.Done():
			return ctx.Err()
		}
		if got.err != nil {
			return got.err
		}
		if err := visit(i, got.record); err != nil {
			return err
		}
		free[r] <- got.record
	}
	return nil
}
