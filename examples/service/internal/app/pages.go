package app

import (
	"io"
	"net/http"
)

// registerPages adds the pages that people use.
func registerPages(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>couponkit</title>`+
			`<h1>couponkit</h1><p>The interface is described at <a href="/docs">/docs</a>.</p></html>`)
	})
}
