package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// branch is the branch that models are downloaded from.
const branch = "main"

// Limits on the hub's listing of a repository.
const (
	maxListing = 32 << 20 // bytes
	maxSize    = 1 << 43  // bytes of a file
)

// listing is the hub's listing of a branch.
type listing struct {
	commit string
	files  []file // only model files
}

// answer is the part of the hub's API response that is used.
type answer struct {
	SHA      string `json:"sha"`
	Siblings []struct {
		Name   string `json:"rfilename"`
		Size   int64  `json:"size"`
		BlobID string `json:"blobId"` // git's sha1
		LFS    *struct {
			SHA256 string `json:"sha256"`
			Size   int64  `json:"size"`
		} `json:"lfs"`
	} `json:"siblings"`
}

func (c *Client) apiURL(r Ref) string {
	return fmt.Sprintf("%s/api/models/%s/%s/revision/%s?blobs=true", c.Endpoint, r.User, r.Repo, branch)
}

// contentURL is the address of the content of a commit's file.
func (c *Client) contentURL(r Ref, commit, path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return fmt.Sprintf("%s/%s/%s/resolve/%s/%s", c.Endpoint, r.User, r.Repo, commit, strings.Join(parts, "/"))
}

// list asks the hub for the model files of a repository.
func (c *Client) list(ctx context.Context, r Ref) (*listing, error) {
	var text []byte
	err := c.retry(ctx, func(ctx context.Context, alive func()) (progress int64, err error) {
		resp, err := c.get(ctx, c.apiURL(r), nil)
		if err != nil {
			return 0, reached(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return 0, c.refusal(resp)
		}
		text, err = io.ReadAll(io.LimitReader(&watched{resp.Body, alive}, maxListing+1))
		return 0, err
	})
	if err != nil {
		return nil, err
	}
	if len(text) > maxListing {
		return nil, errors.New("the hub's list of the files has more than 32 MiB")
	}
	return parseListing(text)
}

// parseListing parses the hub's response. It fails for a model file whose name would leave the cache, or with
// an impossible size or checksum.
func parseListing(text []byte) (*listing, error) {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("the hub's list of the files cannot be read: %w", err)
	}
	if !commitID.MatchString(a.SHA) {
		return nil, fmt.Errorf("the hub names the commit %.60q", a.SHA)
	}
	l := &listing{commit: a.SHA}
	for _, s := range a.Siblings {
		if !strings.Contains(s.Name, ".gguf") {
			continue
		}
		f := file{s.Name, s.Size, s.BlobID}
		if s.LFS != nil {
			f.size, f.etag = s.LFS.Size, s.LFS.SHA256
		}
		if !validPath(f.path) {
			return nil, fmt.Errorf("the repository has a file %.200q, whose name is no path below it", f.path)
		}
		if f.size < 1 || f.size > maxSize || !etagID.MatchString(f.etag) {
			return nil, fmt.Errorf("the hub says that %s has %d bytes and the checksum %.80q", f.path, f.size, f.etag)
		}
		l.files = append(l.files, f)
	}
	return l, nil
}
