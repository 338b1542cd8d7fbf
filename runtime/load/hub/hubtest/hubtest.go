// Package hubtest serves a fake hub with one repository, u/r, for tests.
package hubtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// Serve starts a hub whose repository has the given files, by name. The caller closes it.
func Serve(files map[string][]byte) *httptest.Server {
	var siblings []map[string]any
	for name, data := range files {
		lfs := map[string]any{"sha256": fmt.Sprintf("%x", sha256.Sum256(data)), "size": len(data)}
		siblings = append(siblings, map[string]any{"rfilename": name, "lfs": lfs})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/models/u/r/revision/main", func(w http.ResponseWriter, _ *http.Request) {
		// If the response cannot be sent, the client reports it.
		_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": siblings})
	})
	const content = "/u/r/resolve/" + commit + "/"
	mux.HandleFunc("GET "+content, func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[strings.TrimPrefix(r.URL.Path, content)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	})
	return httptest.NewServer(mux)
}
