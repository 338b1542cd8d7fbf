package engine

import (
	"mla/runtime/device"
	"mla/runtime/plan"
)

// Profiler measures the device's dispatches; nil: the device cannot. Measuring overwrites the caches, so all
// sessions are empty afterwards.
func (m *Model) Profiler() (*device.Profiler, error) {
	p := m.runner.Diagnostics().Profiler
	if p == nil {
		return nil, nil
	}
	if err := m.forget(); err != nil {
		return nil, err
	}
	// The measured rows use the first block table.
	pages := make([]uint32, min(m.pages, plan.Pages(m.context)))
	for i := range pages {
		pages[i] = uint32(i)
	}
	return p, m.fail(m.runner.Assign(0, 0, pages))
}

// DevicePicks says whether the device can pick tokens and run ahead of the host.
func (m *Model) DevicePicks() bool {
	_, ok := m.runner.(device.Picker)
	return ok
}
