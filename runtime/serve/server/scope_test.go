package server_test

import (
	"fmt"
	"strings"
	"testing"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/server"
)

// cached returns how many tokens of a prompt a request finds in the cache.
func (s *served) cached(prompt string, fields string, headers ...string) int {
	s.Helper()
	r, text := s.do("POST", "/v1/completions", fmt.Sprintf(`{"max_tokens":1,"prompt":%q%s}`, prompt, fields), headers...)
	_, found, ok := strings.Cut(text, `"cached_tokens":`)
	n := 0
	if _, err := fmt.Sscan(found, &n); r.StatusCode != 200 || !ok || err != nil {
		s.Fatalf("%s %s", r.Status, text)
	}
	return n
}

// TestUsersApart checks that cached_tokens tells a client nothing about the prompts of another key or another
// salt. Within a key it does not show single tokens.
func TestUsersApart(t *testing.T) {
	const secret = "My account number is 4821 and my favourite city is Paris, do not tell anybody of it, please: it is a secret of mine and of nobody else at all."
	for _, keys := range [][]string{nil, {"alice-key", "bob-key"}} {
		s := serve(t, func(c *server.Config, _ *completion.Config) { c.Keys = keys })
		as := func(name string) []string { return []string{"Authorization", "bearer " + name + "-key"} }
		s.cached(secret, "", as("alice")...)
		whole := (len(secret) - 1) / 64 * 64
		if n := s.cached(secret, "", as("alice")...); n != whole {
			t.Errorf("keys %q: Alice finds %d of her own tokens; expected %d", keys, n, whole)
		}
		want := whole
		if keys != nil {
			want = 0
		}
		if n := s.cached(secret, "", as("bob")...); n != want {
			t.Errorf("keys %q: Bob finds %d of Alice's tokens; expected %d", keys, n, want)
		}
		if n := s.cached(secret, "", "X-Api-Key", "alice-key"); n != whole {
			t.Errorf("keys %q: in Anthropic's header, Alice finds %d tokens; expected %d", keys, n, whole)
		}
		// The oracle: one token more at a time.
		for n := 20; n < len(secret); n++ {
			if found := s.cached(secret[:n]+"?", "", as("alice")...); found%64 != 0 || found > n/64*64 {
				t.Errorf("keys %q: %d tokens are found of %d that are right", keys, found, n)
			}
		}
		salted := `,"cache_salt":"s"`
		if n := s.cached(secret, salted, as("alice")...); n != 0 {
			t.Errorf("keys %q: with a salt %d tokens are found", keys, n)
		}
		if n := s.cached(secret, salted, as("alice")...); n != whole {
			t.Errorf("keys %q: with the same salt %d tokens are found; expected %d", keys, n, whole)
		}
		if n := s.cached(secret, `,"cache_salt":"t"`, as("alice")...); n != 0 {
			t.Errorf("keys %q: with another salt %d tokens are found", keys, n)
		}
		if n := s.cached(secret, salted, as("bob")...); n != want {
			t.Errorf("keys %q: with Alice's salt Bob finds %d tokens; expected %d", keys, n, want)
		}
	}
}
