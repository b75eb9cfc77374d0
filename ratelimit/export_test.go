package ratelimit

// Tracked returns the number of buckets in memory.
func (m *Memory) Tracked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.fullAt)
}
