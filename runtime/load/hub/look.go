package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"mla/runtime/gguf"
)

// Bounds on the bytes of a file that are read for its header. Large vocabularies take some 10 MB.
const (
	firstHead = 1 << 20
	mostHead  = 64 << 20
)

// look passes the header of a model to Client.Look before the model is downloaded.
func (c *Client) look(ctx context.Context, r Ref, commit string, m *model, bytes int64) error {
	if c.Look == nil {
		return nil
	}
	var parts []*gguf.File
	for _, f := range m.files {
		part, err := c.header(ctx, f, c.contentURL(r, commit, f.path))
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	whole, err := gguf.Join(m.files[0].path, parts)
	if err != nil {
		return err
	}
	return c.Look(whole, bytes)
}

// header downloads as much of a file's beginning as its header takes.
func (c *Client) header(ctx context.Context, f file, url string) (*gguf.File, error) {
	var head []byte
	for want := int64(firstHead); ; want *= 4 {
		want = min(want, mostHead, f.size)
		if err := c.beginning(ctx, f, url, &head, want); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		h, err := gguf.ParseHeader(f.path, head, f.size)
		if !errors.Is(err, gguf.ErrShort) || want == min(mostHead, f.size) {
			return h, err
		}
	}
}

// beginning extends head to the first want bytes of a file.
func (c *Client) beginning(ctx context.Context, f file, url string, head *[]byte, want int64) error {
	return c.retry(ctx, func(ctx context.Context, alive func()) (int64, error) {
		had := int64(len(*head))
		resp, err := c.get(ctx, url, map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", had, want-1)})
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK: // the whole file, although a part was asked for
			*head = (*head)[:0]
		case http.StatusPartialContent:
			var first, last, all int64
			text := resp.Header.Get("Content-Range")
			if n, err := fmt.Sscanf(text, "bytes %d-%d/%d", &first, &last, &all); err != nil || n != 3 || first != had || all != f.size {
				return 0, fmt.Errorf("asked for byte %d and what follows of %d, the server sends %.60q", had, f.size, text)
			}
		default:
			return 0, c.refusal(resp)
		}
		more, err := io.ReadAll(io.LimitReader(&watched{resp.Body, alive}, want-int64(len(*head))))
		*head = append(*head, more...)
		if err == nil && int64(len(*head)) < want {
			err = again{error: fmt.Errorf("the connection ended after %d bytes of the header", len(*head))}
		}
		return int64(len(more)), err
	})
}
