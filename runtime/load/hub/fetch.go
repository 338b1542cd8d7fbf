package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strings"
)

// unfinished is the suffix of an incomplete content's name, as with the hub's own tools.
const unfinished = ".incomplete"

// transfer is the download of one file.
type transfer struct {
	client *Client
	file   file
	url    string
	part   *os.File  // the bytes so far
	done   int64     // number of these bytes
	hash   hash.Hash // of these bytes
	etag   string    // the server's tag of the file in transfer; "": none, or a weak one
	tally  *tally
}

// fetch downloads a file to path. It resumes an earlier attempt. If the result then has a wrong checksum, the
// earlier bytes were not of this file, and the whole file is downloaded once more.
func (c *Client) fetch(ctx context.Context, f file, url, path string, tally *tally) (err error) {
	part, err := os.OpenFile(path+unfinished, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if part != nil {
			err = errors.Join(err, part.Close())
		}
	}()
	t := &transfer{client: c, file: f, url: url, part: part, tally: tally}
	resumed, err := t.begin(ctx)
	if err != nil {
		return err
	}
	err = c.retry(ctx, t.try)
	var wrong *checksumError
	if err == nil {
		err = t.check()
	}
	if errors.As(err, &wrong) {
		if err := t.restart(); err != nil || !resumed {
			return errors.Join(wrong, err, os.Remove(part.Name()))
		}
		c.note("%v; loading it from its beginning", wrong)
		if err = c.retry(ctx, t.try); err == nil {
			err = t.check()
		}
	}
	if err != nil {
		return err
	}
	err = errors.Join(part.Sync(), part.Close())
	part = nil
	if err != nil {
		return err
	}
	return os.Rename(path+unfinished, path)
}

// newHash returns the hash that a content is named by; git's includes the size.
func newHash(f file) hash.Hash {
	if len(f.etag) == 2*sha256.Size {
		return sha256.New()
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", f.size)
	return h
}

// begin reads the bytes of an earlier attempt, if these can be the beginning of the file.
func (t *transfer) begin(ctx context.Context) (resumed bool, err error) {
	info, err := t.part.Stat()
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a regular file", t.part.Name())
	}
	if info.Size() == 0 || info.Size() > t.file.size {
		return false, t.restart()
	}
	t.hash = newHash(t.file)
	for buffer := make([]byte, 1<<20); ; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := t.part.Read(buffer)
		t.hash.Write(buffer[:n])
		t.done += int64(n)
		t.tally.add(int64(n))
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// restart drops all bytes.
func (t *transfer) restart() error {
	t.tally.add(-t.done)
	t.done, t.hash, t.etag = 0, newHash(t.file), ""
	_, err := t.part.Seek(0, io.SeekStart)
	return errors.Join(err, t.part.Truncate(0))
}

// try downloads the missing bytes.
func (t *transfer) try(ctx context.Context, alive func()) (progress int64, err error) {
	before := t.done
	if before == t.file.size {
		return 0, nil
	}
	resp, err := t.client.get(ctx, t.url, t.header())
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if err := t.accept(resp); err != nil {
		return 0, err
	}
	err = t.copy(&watched{resp.Body, alive})
	return t.done - before, err
}

// header asks for the rest of the file, on condition that the file has not changed.
func (t *transfer) header() map[string]string {
	if t.done == 0 {
		return nil
	}
	h := map[string]string{"Range": fmt.Sprintf("bytes=%d-", t.done)}
	if t.etag != "" {
		h["If-Range"] = t.etag
	}
	return h
}

// accept checks the header of a response: whether it is of this file, and at which byte it begins.
func (t *transfer) accept(resp *http.Response) error {
	if err := t.linked(resp); err != nil {
		return err
	}
	size := resp.ContentLength // of the response's body; -1: unknown
	switch resp.StatusCode {
	case http.StatusOK: // the whole file, although a part was asked for
		if t.done > 0 {
			if err := t.restart(); err != nil {
				return err
			}
		}
	case http.StatusPartialContent:
		var first, last, all int64
		text := resp.Header.Get("Content-Range")
		if n, err := fmt.Sscanf(text, "bytes %d-%d/%d", &first, &last, &all); err != nil || n != 3 || first != t.done || last != all-1 || all != t.file.size {
			return fmt.Errorf("asked for byte %d and what follows of %d, the server sends %.60q", t.done, t.file.size, text)
		}
	case http.StatusRequestedRangeNotSatisfiable:
		return errors.Join(again{error: t.client.refusal(resp)}, t.restart())
	default:
		return t.client.refusal(resp)
	}
	if size >= 0 && size != t.file.size-t.done {
		return fmt.Errorf("the server is about to send %d bytes; the hub lists %d", t.done+size, t.file.size)
	}
	if tag := resp.Header.Get("ETag"); strings.HasPrefix(tag, `"`) { // a weak tag does not identify bytes
		t.etag = tag
	}
	return nil
}

// linked compares the hub's headers in the redirect to its storage with the hub's listing.
func (t *transfer) linked(resp *http.Response) error {
	for ; resp != nil; resp = resp.Request.Response {
		if tag := strings.Trim(resp.Header.Get("X-Linked-Etag"), `"`); tag != "" && tag != t.file.etag {
			return fmt.Errorf("the hub lists a file of checksum %s and has one of %.80q", t.file.etag, tag)
		}
		if size := resp.Header.Get("X-Linked-Size"); size != "" && size != fmt.Sprint(t.file.size) {
			return fmt.Errorf("the hub lists a file of %d bytes and has one of %.20q", t.file.size, size)
		}
	}
	return nil
}

// copy appends the body until the file has its full size. A connection that ends early is worth another
// attempt; a full disk is not.
func (t *transfer) copy(body io.Reader) error {
	for buffer := make([]byte, 256<<10); ; {
		n, err := body.Read(buffer)
		if int64(n) > t.file.size-t.done {
			return fmt.Errorf("the server sends more than the %d bytes that the hub lists", t.file.size)
		}
		if n > 0 {
			written, err := t.part.Write(buffer[:n])
			t.hash.Write(buffer[:written])
			t.done += int64(written)
			t.tally.add(int64(written))
			if err != nil {
				return fmt.Errorf("%w\nthe next run goes on with the %d bytes that are there", err, t.done)
			}
		}
		switch {
		case errors.Is(err, io.EOF) && t.done == t.file.size:
			return nil
		case errors.Is(err, io.EOF):
			return again{error: fmt.Errorf("the connection ended after %d of %d bytes", t.done, t.file.size)}
		case err != nil:
			return again{error: fmt.Errorf("the connection broke after %d of %d bytes: %w", t.done, t.file.size, err)}
		}
	}
}

// checksumError says that a file differs from the hub's listing.
type checksumError struct{ got, want string }

func (e *checksumError) Error() string {
	return fmt.Sprintf("its checksum is %s; the hub lists %s", e.got, e.want)
}

// check compares the checksum of the whole file.
func (t *transfer) check() error {
	if got := hex.EncodeToString(t.hash.Sum(nil)); got != t.file.etag {
		return &checksumError{got, t.file.etag}
	}
	return nil
}
