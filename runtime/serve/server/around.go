package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"mla/runtime/serve/server/page"
)

// key is the hash of an API key, so that comparisons take constant time.
type key [sha256.Size]byte

func hashKeys(keys []string) (list []key) {
	for _, k := range keys {
		list = append(list, sha256.Sum256([]byte(k)))
	}
	return list
}

// around is the middleware of all requests.
func (s *Server) around(next http.Handler) http.Handler {
	same := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := requestID(r)
		r.Header.Set(idHeader, id) // for a worker
		w.Header().Set(idHeader, id)
		w.Header().Set("Request-Id", id) // the header that Anthropic's clients read
		for name, value := range common {
			w.Header().Set(name, value)
		}
		rec := &recorder{ResponseWriter: w, rc: http.NewResponseController(w), limit: s.cfg.Limits.Write, note: &note{}}
		r = r.WithContext(context.WithValue(r.Context(), noteKey{}, rec.note))
		if s.cfg.Worker {
			w.Header().Set("Trailer", usedTrailer)
			defer func() { rec.note.used.tell(w.Header()) }()
		}
		if isSpare(r) {
			w.Header().Set("Connection", "close")
		}
		if r.ContentLength != 0 { // also for a body that no endpoint reads
			_ = rec.rc.SetReadDeadline(time.Now().Add(s.cfg.Limits.Read))
		}
		start := time.Now()
		defer s.finish(rec, r, id, start)
		switch {
		case isSpare(r) && !isHealth(r):
			fail(rec, r, &apiError{Status: http.StatusServiceUnavailable, Type: "unavailable_error", Code: "connections", retryAfter: time.Second, Message: "the server has as many connections as it may; try again"})
		case !s.knowsHost(r.Host):
			fail(rec, r, &apiError{Status: http.StatusForbidden, Type: "permission_error", Code: "host", Message: "the server does not answer for the host " + clip(r.Host, 100) + "; its flag -allow-host adds names"})
		case !s.trusts(r.Header.Get("Origin")) && same.Check(r) != nil:
			fail(rec, r, &apiError{Status: http.StatusForbidden, Type: "permission_error", Code: "origin", Message: "web pages of other origins may not use the server"})
		case s.preflight(rec, r):
		case !isHealth(r) && !page.Has(r.URL.Path) && !s.allowed(r):
			rec.Header().Set("WWW-Authenticate", "Bearer")
			fail(rec, r, &apiError{Status: http.StatusUnauthorized, Type: "authentication_error", Code: "invalid_api_key", Message: "the API key is missing or wrong"})
		default:
			next.ServeHTTP(rec, r)
		}
	})
}

const idHeader = "X-Request-Id"

// common is the headers of all responses.
var common = map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}

// finish logs a request, and converts a panic to an error.
func (s *Server) finish(rec *recorder, r *http.Request, id string, start time.Time) {
	p := recover()
	if p == http.ErrAbortHandler { // of a proxy whose upstream or client has disconnected
		rec.note.fail(&apiError{Status: statusGone, Code: "broken_off", Message: "the answer was broken off"})
		defer panic(p) // so that the client sees a broken response
	} else if p != nil {
		s.cfg.Log.Error("a handler panicked", "id", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if rec.status == 0 {
			fail(rec, r, &apiError{Status: http.StatusInternalServerError, Type: "server_error", Code: "panic", Message: "internal error"})
		}
	}
	took := time.Since(start)
	s.metrics.request(rec.note, rec.status, took)
	level := slog.LevelInfo
	if quiet[rec.note.endpoint] {
		level = slog.LevelDebug
	}
	s.cfg.Log.LogAttrs(r.Context(), level, "request", append([]slog.Attr{
		slog.String("id", id), slog.String("method", r.Method), slog.String("path", clip(r.URL.Path, 200)), slog.Int("status", rec.status), slog.Duration("took", took),
	}, rec.note.attrs...)...)
}

// quiet is the endpoints whose requests are not logged.
var quiet = map[string]bool{"GET /health": true, "GET /v1/health": true, "GET /metrics": true, "GET /page/{file...}": true}

// note is an endpoint's additions to the log and the metrics.
type note struct {
	endpoint string
	attrs    []slog.Attr
	used     *account  // nil: nothing, or unknown
	failed   *apiError // why the request failed, even after the response had begun
}

type noteKey struct{}

// noted returns the request's note.
func noted(r *http.Request) *note {
	if n, ok := r.Context().Value(noteKey{}).(*note); ok {
		return n
	}
	return &note{}
}

// recorder records the status of a response, and disconnects clients that do not read in time.
type recorder struct {
	http.ResponseWriter
	rc     *http.ResponseController
	limit  time.Duration
	status int
	note   *note
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	// Only a test's connection has no deadlines.
	_ = r.rc.SetWriteDeadline(time.Now().Add(r.limit))
	return r.ResponseWriter.Write(data)
}

// Unwrap is called by http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// requestID is the client's id if it is harmless, else a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get(idHeader)
	odd := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	}
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, odd) {
		return "req_" + rand.Text()
	}
	return id
}

// knowsHost says whether a Host header names the server. Addresses are always allowed, as DNS rebinding needs
// a name.
func (s *Server) knowsHost(host string) bool {
	if len(s.cfg.Hosts) == 0 {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return slices.ContainsFunc(s.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// isHealth says whether a request is a health check.
func isHealth(r *http.Request) bool { return r.URL.Path == "/health" || r.URL.Path == "/v1/health" }

// preflight answers a browser's preflight request for cross-origin access, and adds headers to responses for
// allowed origins.
func (s *Server) preflight(w http.ResponseWriter, r *http.Request) (answered bool) {
	origin := r.Header.Get("Origin")
	if !s.trusts(origin) {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, Request-Id, Retry-After")
	h.Add("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	// The page may send any header: client libraries send headers of their own, and the necessary API key is
	// the only credential.
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// allowed checks the API key, in OpenAI's and Anthropic's headers.
func (s *Server) allowed(r *http.Request) bool {
	if len(s.keys) == 0 {
		return true
	}
	hash, found := sha256.Sum256([]byte(givenKey(r))), 0
	for _, k := range s.keys {
		found |= subtle.ConstantTimeCompare(hash[:], k[:])
	}
	return found == 1
}

// wrap makes a handler of an endpoint: it limits the time of the request, and answers with the endpoint's
// error.
func (s *Server) wrap(pattern string, e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		noted(r).endpoint = pattern
		ctx, cancel := context.WithTimeoutCause(r.Context(), s.cfg.Limits.Request, errDeadline)
		defer cancel()
		ctx, span := s.begin(r.WithContext(ctx), pattern)
		defer func() { noted(r).end(span) }()
		r = r.WithContext(ctx)
		if err := e(w, r); err != nil {
			fail(w, r, explain(err))
		}
	})
}

// fail answers with an error, and records it in the note.
func fail(w http.ResponseWriter, r *http.Request, e *apiError) {
	noted(r).fail(e)
	writeError(w, r, e)
}

// fail records why a request has failed.
func (n *note) fail(e *apiError) {
	n.failed = e
	n.attrs = append(n.attrs, slog.String("error", e.Message))
}
