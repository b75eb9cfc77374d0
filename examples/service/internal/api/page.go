package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// problem answers with a problem: as an HTML page for a browser, as JSON for every other client.
func (a *API) problem(w http.ResponseWriter, r *http.Request, p problem) {
	if a.ErrorPage == nil || r.Method != http.MethodGet && r.Method != http.MethodHead || !prefersHTML(r.Header) {
		writeProblem(w, p)
		return
	}
	p.announce(w.Header())
	text := p.Detail
	if text == p.Title {
		text = ""
	}
	a.ErrorPage(w, r, p.Status, p.Title, text)
}

// prefersHTML reports whether a client prefers an HTML page to JSON. Clients that accept both equally
// get JSON, as programs usually do.
func prefersHTML(h http.Header) bool {
	accept := strings.Join(h.Values("Accept"), ",")
	return quality(accept, "text/html") > max(quality(accept, "application/problem+json"), quality(accept, "application/json"))
}

// quality returns a client's preference for a media type, from 0 to 1, by RFC 9110, section 12.5.1. The
// most specific range that matches decides. Malformed ranges are ignored.
func quality(accept, media string) float64 {
	group, _, _ := strings.Cut(media, "/")
	ranges := []string{media, group + "/*", "*/*"}
	best, liked := len(ranges), 0.0
	for each := range strings.SplitSeq(accept, ",") {
		given, parameters, err := mime.ParseMediaType(each)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, weighed := parameters["q"]; weighed {
			if weight, err = strconv.ParseFloat(q, 64); err != nil || !(weight >= 0 && weight <= 1) {
				continue
			}
		}
		for i, name := range ranges[:best] {
			if given == name {
				best, liked = i, weight
			}
		}
	}
	return liked
}
