package server

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
)

// Names for many origins, as in llama-server.
const (
	anyOrigin   = "*"
	loopOrigins = "localhost" // pages of this machine, on any port
)

// CheckOrigin fails for an invalid entry of Config.Origins.
func CheckOrigin(origin string) error {
	if origin == anyOrigin || origin == loopOrigins {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
		return fmt.Errorf("%q is no origin; expected one such as http://localhost:3000, or %s, or %s for any page", origin, loopOrigins, anyOrigin)
	}
	return nil
}

// trusts says whether pages of an origin may use the server.
func (s *Server) trusts(origin string) bool {
	list := s.cfg.Origins
	return origin != "" && (slices.Contains(list, anyOrigin) || slices.Contains(list, origin) ||
		slices.Contains(list, loopOrigins) && isLoopback(origin))
}

// isLoopback says whether an origin is on this machine.
func isLoopback(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback()
}
