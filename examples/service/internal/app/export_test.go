package app

// BreakStore closes the store behind a running service.
func (s *Server) BreakStore() error { return s.storage.Close() }
