package server

import (
	"net/http/httptest"
	"testing"
)

// TestScopeOfRouter checks that a worker accepts a scope from its router and from no other client.
func TestScopeOfRouter(t *testing.T) {
	r := httptest.NewRequest("POST", "/v1/completions", nil)
	r.Header.Set("Authorization", "Bearer a")
	r.Header.Set(scopeHeader, "mine")
	keyed := newServer(Config{Keys: []string{"a"}})
	if got := keyed.keyScope(r); got == "" || got == "mine" || got != hashScope("key", "a") {
		t.Errorf("a client has chosen its scope: %q", got)
	}
	if got := newServer(Config{}).keyScope(r); got != "" {
		t.Errorf("without keys the scope is %q", got)
	}
	if got := newServer(Config{Worker: true, Keys: []string{"a"}}).keyScope(r); got != "mine" {
		t.Errorf("a worker's scope is %q", got)
	}
	if hashScope("", "a") == hashScope("key", "a") || hashScope(hashScope("key", "a"), "s") == hashScope(hashScope("key", "b"), "s") {
		t.Error("scopes of different secrets are the same")
	}
}

// TestMemoryApart checks that the memory of a call is found within its scope only.
func TestMemoryApart(t *testing.T) {
	all := newMemory()
	all.within("a").add("functions.f:0", written{`{"x": 1}`, "Alice's thoughts"})
	for scope, want := range map[string]bool{"a": true, "b": false, "": false} {
		if _, ok := all.within(scope).of("functions.f:0"); ok != want {
			t.Errorf("scope %q finds it: %v", scope, ok)
		}
	}
}
