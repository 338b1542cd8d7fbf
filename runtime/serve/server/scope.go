package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// The number of prompt tokens found in the caches, and remembered calls, reveal what others have asked
// before. So a request shares both only within its scope, which is given by its API key and its cache_salt
// (vLLM's field). Without keys and salts, all requests share one scope.

// scopeHeader is the header in which a router tells its worker the scope of a client's key.
const scopeHeader = "X-Mla-Scope"

// maxSalt is the longest salt, in bytes.
const maxSalt = 1024

// salted is a request that may have a salt.
type salted interface{ salt() (string, error) }

// salt is the request's salt; "": none.
func (f *sampling) salt() (string, error) {
	switch {
	case f.CacheSalt == nil:
		return "", nil
	case *f.CacheSalt == "", len(*f.CacheSalt) > maxSalt:
		return "", bad("cache_salt", "has %d bytes; expected 1 to %d", len(*f.CacheSalt), maxSalt)
	}
	return *f.CacheSalt, nil
}

// keyScope is the scope of a request's key.
func (s *Server) keyScope(r *http.Request) string {
	switch {
	case s.cfg.Worker: // the key is the router's
		return r.Header.Get(scopeHeader)
	case len(s.keys) == 0:
		return ""
	}
	return hashScope("key", givenKey(r))
}

// hashScope is a name for a secret that does not reveal it.
func hashScope(kind, secret string) string {
	sum := sha256.Sum256([]byte("mla " + kind + " " + secret))
	return hex.EncodeToString(sum[:16])
}

// within is a copy of the server for a request, which shares only within the request's scope.
func (s *Server) within(r *http.Request, q any) (*Server, error) {
	scope := s.keyScope(r)
	if q, ok := q.(salted); ok {
		salt, err := q.salt()
		if err != nil {
			return nil, err
		}
		if salt != "" {
			scope = hashScope(scope, salt)
		}
	}
	scoped := *s
	scoped.scope, scoped.calls = scope, s.calls.within(scope)
	return &scoped, nil
}

// givenKey is the API key of a request, from OpenAI's or Anthropic's header.
func givenKey(r *http.Request) string {
	// The scheme is case-insensitive: RFC 9110, 11.1.
	if scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	return r.Header.Get("X-Api-Key")
}
