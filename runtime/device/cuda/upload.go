package cuda

import (
	"errors"
	"runtime"
	"sync"

	"mla/runtime/device/cuda/cu"
)

const (
	// pieceBytes is the size of one copy, large enough for full bandwidth.
	pieceBytes = 2 << 20
	// maxReaders bounds the page-locked memory: each reader has two buffers.
	maxReaders = 16
)

// piece is host memory and its place on the device: whole rows, at most pieceBytes unless a single row is
// longer.
type piece struct {
	from []byte
	to   cu.Ptr
	rows rowLayout
}

// cut divides one range into pieces.
func cut(from []byte, to cu.Ptr, r rowLayout) []piece {
	size := max(1, pieceBytes/r.bytes()) * r.bytes()
	var list []piece
	for len(from) > 0 {
		n := min(len(from), size)
		list = append(list, piece{from[:n], to, r})
		from, to = from[n:], to+cu.Ptr(r.placed(int64(n)))
	}
	return list
}

// upload copies pieces to the device. Several readers share the work, so that reading a mapped file keeps up
// with the bus. Each has two page-locked buffers: it fills one while the device reads the other. Rows are
// split on the way into a buffer, which needs no further memory. done is called with the bytes of each piece,
// by one goroutine at a time.
func upload(c *cu.Context, pieces []piece, done func(bytes int)) error {
	u := &uploader{queue: make(chan piece), stop: make(chan struct{}), done: done}
	for _, p := range pieces {
		u.size = max(u.size, int(p.rows.placed(int64(len(p.from)))))
	}
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxReaders, len(pieces)) {
		readers.Go(func() { u.fail(c.Do(u.read)) })
	}
send:
	for _, p := range pieces {
		select {
		case u.queue <- p:
		case <-u.stop:
			break send
		}
	}
	close(u.queue)
	readers.Wait()
	return u.err
}

// uploader is the state that the readers of one upload share.
type uploader struct {
	queue chan piece
	stop  chan struct{} // closed at the first failure
	size  int           // of a buffer
	mutex sync.Mutex
	done  func(bytes int)
	err   error // the first failure
}

func (u *uploader) fail(err error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if err != nil && u.err == nil {
		u.err = err
		close(u.stop)
	}
}

func (u *uploader) report(bytes int) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.done(bytes)
}

// staging is a page-locked buffer. Until its event has passed, it is being copied to the device.
type staging struct {
	memory *cu.Pinned
	copied cu.Event
}

// read copies pieces until none is left.
func (u *uploader) read() (err error) {
	stream, err := cu.NewStream()
	if err != nil {
		return err
	}
	var buffers [2]staging
	defer func() {
		err = errors.Join(err, stream.Destroy())
		for i := range buffers {
			err = errors.Join(err, buffers[i].copied.Destroy(), buffers[i].memory.Free())
		}
	}()
	for i := range buffers {
		if buffers[i].copied, err = cu.NewEvent(); err != nil {
			return err
		}
		if buffers[i].memory, err = cu.AllocPinned(u.size); err != nil {
			return err
		}
	}
	next := 0
	for p := range u.queue {
		b := &buffers[next]
		next = (next + 1) % len(buffers)
		if err := b.copied.Wait(); err != nil {
			return err
		}
		n := len(p.from)
		p.rows.copy(b.memory.Bytes(), p.from)
		if err := stream.Upload(p.to, b.memory, 0, int(p.rows.placed(int64(n)))); err != nil {
			return err
		}
		if err := b.copied.Record(stream); err != nil {
			return err
		}
		u.report(n)
	}
	return nil
}
