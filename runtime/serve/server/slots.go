package server

import (
	"net/http"
	"strconv"
)

// slotAction answers POST /slots/ID?action=…, which in llama-server saves, restores or erases the cache of a
// slot. Here all requests of a scope share caches, so a slot has none of its own.
func (s *Server) slotAction(_ http.ResponseWriter, r *http.Request) error {
	id, err := strconv.Atoi(r.PathValue("id"))
	if most := s.cfg.Service.Stats().Sessions; err != nil || id < 0 || id >= most {
		return bad("id_slot", "%q; expected 0 to %d", clip(r.PathValue("id"), 20), most-1)
	}
	switch action := r.URL.Query().Get("action"); action {
	case "save", "restore", "erase":
		return &apiError{Status: http.StatusNotImplemented, Type: "not_supported_error", Code: "not_supported", Param: "action",
			Message: "slots have no caches of their own: requests share the pages of prompts, and the flag -prompt-cache-dir keeps them from one run to the next"}
	default:
		return bad("action", "%q; expected save, restore or erase", clip(action, 50))
	}
}
