package app

import "net/http"

// BreakStore closes the store behind a running service.
func (s *Server) BreakStore() error { return s.storage.Close() }

// HTTP is the server of a running service.
func (s *Server) HTTP() *http.Server { return s.http }

// ClientAddress tells who asks, behind a proxy.
func ClientAddress(r *http.Request) string { return clientAddress(Config{BehindProxy: true})(r) }

// Reached is where a listener is reached from its own machine.
var Reached = reached
