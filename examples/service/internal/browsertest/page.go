package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// quoted returns text as a JavaScript string.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return `""` // cannot happen for a string
	}
	return string(out)
}

// insert inserts text at the cursor, like a paste.
func (t *Tab) insert(text string) error {
	_, err := chromedp.Call(t.ctx, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// enter presses Enter in one event with the key and its character. If the page cancels the key, it does
// not get the character, which would submit a form.
func (t *Tab) enter() error {
	const enterKey = 13
	for _, event := range []input.DispatchKeyEventParams{
		{Type: input.DispatchKeyEventTypeKeyDown, Text: "\r", UnmodifiedText: "\r"}, {Type: input.DispatchKeyEventTypeKeyUp},
	} {
		event.Key, event.Code, event.WindowsVirtualKeyCode = "Enter", "Enter", enterKey
		if _, err := chromedp.Call(t.ctx, input.DispatchKeyEvent, event); err != nil {
			return err
		}
	}
	return nil
}

// Resize gives the tab a size in CSS pixels, and the resolution of the pictures.
func (t *Tab) Resize(width, height int64, scale float64) error {
	return t.do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(scale)))
}

// Dark lets the system prefer a dark or a light appearance.
func (t *Tab) Dark(on bool) error {
	value := "light"
	if on {
		value = "dark"
	}
	_, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	return err
}

// Forced lets the system choose the colours, as for people who need a strong contrast.
func (t *Tab) Forced() error {
	_, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "forced-colors", Value: "active"}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	return err
}

// Scripts lets the pages run scripts, or not.
func (t *Tab) Scripts(on bool) error {
	_, err := chromedp.Call(t.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
	return err
}

// Zone lets the system be in a time zone; empty is its own.
func (t *Tab) Zone(name string) error {
	_, err := chromedp.Call(t.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
	return err
}

// Empty forgets everything: what the service has stored in the tab, cookies, where it
// has been, and how it looks.
func (t *Tab) Empty() error {
	t.Release()
	if err := t.Eval(`location.protocol === "http:" && (localStorage.clear(), sessionStorage.clear())`, nil); err != nil {
		return err
	}
	if err := t.do(chromedp.Navigate("about:blank")); err != nil {
		return err
	}
	// Under load, a tab kept its size when the override was only removed. Set the size explicitly.
	if err := errors.Join(t.Resize(width, height, 1), t.Zone(""), t.Scripts(true)); err != nil {
		return err
	}
	if _, err := chromedp.Call(t.ctx, page.ResetNavigationHistory, cdp.Empty{}); err != nil {
		return err
	}
	_, err := chromedp.Call(t.ctx, network.ClearBrowserCookies, cdp.Empty{})
	return err
}

// Hold lets requests to addresses that begin with a path wait for [Tab.Release].
func (t *Tab) Hold(path string) error {
	released := make(chan struct{})
	err := t.intercept(path, func(ctx context.Context, request fetch.RequestID) {
		t.listening.Go(func() {
			select {
			case <-released:
				pass(ctx, request)
			case <-ctx.Done():
			}
		})
	})
	t.release = func() { close(released) }
	return err
}

// pass continues a request.
func pass(ctx context.Context, request fetch.RequestID) {
	_, _ = chromedp.Call(ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: request}) // ignore the error: the page may have aborted the request
}

// Cut lets requests to addresses that begin with a path fail, as if there was no
// network, until [Tab.Release].
func (t *Tab) Cut(path string) error {
	return t.intercept(path, func(ctx context.Context, request fetch.RequestID) {
		_, _ = chromedp.Call(ctx, fetch.FailRequest, fetch.FailRequestParams{ // ignore the error: the page may have aborted the request
			RequestID: request, ErrorReason: network.ErrorReasonInternetDisconnected,
		})
	})
}

// Answer lets requests to addresses that begin with a path have an answer in JSON that
// the service would take long to come to, until [Tab.Release].
func (t *Tab) Answer(path, body string) error {
	return t.intercept(path, func(ctx context.Context, request fetch.RequestID) {
		_, _ = chromedp.Call(ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
			RequestID: request, ResponseCode: http.StatusOK, Body: []byte(body),
		})
	})
}

// intercept passes requests to a function until [Tab.Release]. The addresses of the requests begin with
// path.
func (t *Tab) intercept(path string, settle func(context.Context, fetch.RequestID)) error {
	t.settle.Store(&settle)
	t.intercepting.Do(func() {
		paused := chromedp.Events(t.ctx, fetch.RequestPaused)
		t.listening.Go(func() {
			for request, err := range paused {
				if err != nil {
					return
				}
				(*t.settle.Load())(t.ctx, request.RequestID)
			}
		})
	})
	_, err := chromedp.Call(t.ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: t.base + path + "*"}}})
	return err
}

// Release ends what [Tab.Hold], [Tab.Cut] or [Tab.Answer] has begun: what waits goes on. Requests
// are still intercepted and go on at once, since a browser that stops intercepting can lose a
// request that it is about to hand over.
func (t *Tab) Release() {
	goOn := pass
	t.settle.Store(&goOn)
	if t.release != nil {
		t.release()
		t.release = nil
	}
}
