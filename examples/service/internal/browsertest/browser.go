// Package browsertest drives the reference service's pages in headless Chromium.
//
// # Idea
//
// A [Browser] is one Chromium process. Each open [Tab] is in a profile of its own, so
// that two tabs are two customers. To open a profile costs more than most tests do, so
// a tab that was closed is emptied and opened again. A tab does what a person does: it goes to an
// address, clicks what can be seen and reached, types, and waits until a condition
// holds. Nothing ever sleeps for a fixed time, and whatever the page complains about
// (an exception, a violation of the content security policy) is kept for the test.
//
// The tests beside this file and the command in screenshots use it.
package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// ErrNoBrowser tells that there is no Chromium to drive.
var ErrNoBrowser = errors.New("no Chromium or Chrome was found; CHROMIUM names one")

// patience is the maximum time that a tab waits for a condition.
const patience = 30 * time.Second

// Browser is a Chromium process. Make it with [Start].
type Browser struct {
	ctx   context.Context
	close []func()

	mu   sync.Mutex
	idle []*Tab
}

// unneeded are features of Chromium that cost time and are not tested: processes started in advance,
// internal pages, and requests to servers.
var unneeded = []string{
	"SpareRendererForSitePerProcess", "PreloadTopChromeWebUI", "PaintHolding", "BackForwardCache", "Translate",
	"OptimizationHints", "MediaRouter", "DialMediaRouteProvider", "AutofillServerCommunication",
	"CertificateTransparencyComponentUpdater", "InterestFeedContentSuggestions", "GlobalMediaControls",
}

// executables are the names of the browser, in order of preference. The headless shell is the same
// engine and needs little more than half the time.
var executables = []string{
	"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome",
}

// Executable returns the browser that is used: that of the environment variable
// CHROMIUM, or the first one in PATH.
func Executable() (string, error) {
	if named := os.Getenv("CHROMIUM"); named != "" {
		return named, nil
	}
	for _, name := range executables {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoBrowser
}

// Start starts Chromium with an empty profile. Close ends it.
func Start(ctx context.Context) (*Browser, error) {
	path, err := Executable()
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp("", "couponkit-browser-")
	if err != nil {
		return nil, err
	}
	b := &Browser{close: []func(){func() { _ = os.RemoveAll(profile) }}}
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.WSURLReadTimeout(time.Minute), chromedp.WindowSize(width, height),
	}
	for _, name := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync",
		"disable-default-apps", "disable-breakpad", "disable-crash-reporter", "disable-extensions", "disable-dev-shm-usage", "disable-background-timer-throttling",
		"disable-renderer-backgrounding", "disable-backgrounding-occluded-windows", "hide-scrollbars", "mute-audio",
	} {
		flags = append(flags, chromedp.Flag(name, true))
	}
	flags = append(flags, chromedp.Flag("disable-features", strings.Join(unneeded, ",")),
		chromedp.Flag("renderer-process-limit", "1")) // per profile, because all its pages belong to one service
	allocator, stop := chromedp.NewExecAllocator(ctx, flags...)
	b.close = append(b.close, stop)
	var cancel context.CancelFunc
	b.ctx, cancel = chromedp.NewContext(allocator)
	b.close = append(b.close, cancel)
	if err := chromedp.Do(b.ctx); err != nil {
		b.Close()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return b, nil
}

// Close ends the process and removes its profile.
func (b *Browser) Close() {
	if b.ctx != nil {
		_ = chromedp.Cancel(b.ctx) // waits until the process has ended
	}
	for _, end := range slices.Backward(b.close) {
		end()
	}
}

// width and height are the size of a tab in CSS pixels.
const width, height = 1280, 900

// Tab is one customer's or administrator's browser window.
type Tab struct {
	browser      *Browser
	ctx          context.Context
	end          context.CancelFunc
	base         string
	release      func()    // releases the requests held by Hold
	intercepting sync.Once // used by the first call of Hold, Cut or Answer
	settle       atomic.Pointer[func(context.Context, fetch.RequestID)]

	listening  sync.WaitGroup
	mu         sync.Mutex
	complaints []string
}

// Open opens a tab with a profile of its own on a service.
func (b *Browser) Open(base string) (*Tab, error) {
	t, err := b.tab()
	if err != nil {
		return nil, err
	}
	t.base = base
	t.mu.Lock()
	t.complaints = nil
	t.mu.Unlock()
	return t, nil
}

// tab returns an empty tab.
func (b *Browser) tab() (*Tab, error) {
	b.mu.Lock()
	if last := len(b.idle) - 1; last >= 0 {
		t := b.idle[last]
		b.idle = b.idle[:last]
		b.mu.Unlock()
		return t, nil
	}
	b.mu.Unlock()
	t := &Tab{browser: b}
	t.ctx, t.end = chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	if err := chromedp.Do(t.ctx); err != nil { // no deadline: the context lives as long as the tab
		t.end()
		return nil, err
	}
	messages := chromedp.Console(t.ctx)
	t.listening.Go(func() { t.listen(messages) })
	return t, nil
}

// Close closes the tab. Nothing of what was done in it is left.
func (t *Tab) Close() {
	if err := t.Empty(); err != nil {
		t.end()
		t.listening.Wait()
		return
	}
	t.browser.mu.Lock()
	defer t.browser.mu.Unlock()
	t.browser.idle = append(t.browser.idle, t)
}

// listen collects the console messages of the page. Responses with an error status are not collected,
// because pages make requests that may be refused.
func (t *Tab) listen(messages iter.Seq2[chromedp.ConsoleMessage, error]) {
	for message, err := range messages {
		if err != nil {
			return // the tab was closed
		}
		if message.IsException() || message.Type == "error" && message.Source != "network" {
			t.mu.Lock()
			t.complaints = append(t.complaints, message.String())
			t.mu.Unlock()
		}
	}
}

// Complaints returns the exceptions and violations that the tab has seen.
func (t *Tab) Complaints() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.complaints...)
}

func (t *Tab) do(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(t.ctx, 2*patience)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// evaluate awaits an expression and returns its value as JSON.
func (t *Tab) evaluate(expression string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.ctx, 2*patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[[]byte](expression, chromedp.EvalAwaitPromise))
}

// Go opens a path of the service and waits until it is loaded.
func (t *Tab) Go(path string) error {
	if err := t.do(chromedp.Navigate(t.base + path)); err != nil {
		return fmt.Errorf("go to %s: %w", path, err)
	}
	return nil
}

// SetCookie gives the tab a cookie of the service.
func (t *Tab) SetCookie(name, value string) error {
	on := true
	_, err := chromedp.Call(t.ctx, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: t.base, HTTPOnly: &on})
	return err
}

// Eval evaluates an expression, which may be a promise, into out. out may be nil.
func (t *Tab) Eval(expression string, out any) error {
	raw, err := t.evaluate(expression)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// Wait waits until an expression is true in the page, across loads of other pages.
func (t *Tab) Wait(expression string) error {
	return t.waitFor(expression, expression, nil, patience)
}

// waitFor waits until an expression is neither false nor null. It decodes the value into out. The error
// contains what, a description of the condition.
func (t *Tab) waitFor(what, expression string, out any, most time.Duration) error {
	const pause = 20 * time.Millisecond
	deadline := time.Now().Add(most)
	for {
		raw, err := t.evaluate(expression)
		if value := string(raw); err == nil && value != "" && value != "false" && value != "null" && value != "undefined" {
			if out == nil {
				return nil
			}
			return json.Unmarshal(raw, out)
		}
		if t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("waited in vain for %s; %s", what, t.situation()), err)
		}
		select {
		case <-time.After(pause): // until the next evaluation
		case <-t.ctx.Done():
		}
	}
}

// situation describes the page for a failed test.
func (t *Tab) situation() string {
	var text string
	if err := t.Eval(`location.href + "\n" + document.body.innerText.replace(/\s+/g, " ").slice(0, 700)`, &text); err != nil {
		return err.Error()
	}
	if complaints := t.Complaints(); len(complaints) > 0 {
		text += "\n" + strings.Join(complaints, "\n")
	}
	return "the page is " + text
}

// point is the position at which an element can be clicked.
type point struct{ X, Y float64 }

// reach returns the middle of an element that can be clicked. The element must be visible, enabled and
// not covered. It must not move for two frames, or for half a second if the browser draws no frames.
// A response may move it even so before the mouse is there: the next click anywhere else does nothing
// and sets window.missed.
const reach = `(async () => {
  const element = document.querySelector(%[1]s);
  if (!element || element.disabled) return null;
  element.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
  const before = element.getBoundingClientRect();
  await new Promise((done) => { setTimeout(done, 500); requestAnimationFrame(() => requestAnimationFrame(done)); });
  const box = element.getBoundingClientRect();
  if (box.x !== before.x || box.y !== before.y || box.width !== before.width) return null;
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  const hits = (target) => element.contains(target) || target.contains(element) && target.tagName === "LABEL";
  const there = document.elementFromPoint(x, y);
  if (box.width <= 0 || !there || !hits(there)) return null;
  window.missed = false;
  window.aim?.abort();
  window.aim = new AbortController();
  const options = {capture: true, once: true, signal: window.aim.signal};
  for (const type of ["mousedown", "mouseup", "click"]) window.addEventListener(type, (event) => {
    if (hits(event.target)) return;
    window.missed = true;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, options);
  return {X: x, Y: y};
})()`

// obstacle returns why an element cannot be clicked: its position, and the element that covers it.
const obstacle = `(() => {
  const element = document.querySelector(%[1]s);
  if (!element) return "there is none";
  const {x, y, width, height} = element.getBoundingClientRect();
  const hit = document.elementFromPoint(x + width / 2, y + height / 2);
  const above = hit && hit.cloneNode(false).outerHTML;
  return JSON.stringify({disabled: element.disabled, x, y, width, height, innerWidth, innerHeight, above});
})()`

// Click clicks an element with the mouse as soon as a person could, and again if the element moved away
// from the mouse.
func (t *Tab) Click(selector string) error {
	missed := true
	for range 5 {
		if err := t.clickOnce(selector); err != nil {
			return err
		}
		// A page that has gone since was left by the click.
		if err := t.Eval(`window.missed === true`, &missed); err != nil || !missed {
			return t.ctx.Err()
		}
	}
	return fmt.Errorf("%s moves away from the mouse", selector)
}

func (t *Tab) clickOnce(selector string) error {
	var at point
	if err := t.waitFor("a place to click "+selector, fmt.Sprintf(reach, quoted(selector)), &at, patience); err != nil {
		var why string
		if unknown := t.Eval(fmt.Sprintf(obstacle, quoted(selector)), &why); unknown != nil {
			return errors.Join(err, unknown)
		}
		return fmt.Errorf("%w\n%s: %s", err, selector, why)
	}
	return t.do(chromedp.MouseClickXY(at.X, at.Y))
}

// Type replaces what is in a field, as if the text was pasted. Press types key by
// key.
func (t *Tab) Type(selector, text string) error {
	if err := t.focus(selector); err != nil {
		return err
	}
	if err := t.Eval(`document.activeElement.select?.()`, nil); err != nil {
		return err
	}
	if text == "" {
		return t.Press("\b")
	}
	return t.insert(text)
}

// focus clicks a field until it has the focus. A first click may miss, because a response moved the
// field.
func (t *Tab) focus(selector string) error {
	focused := fmt.Sprintf(`document.activeElement === document.querySelector(%s)`, quoted(selector))
	var err error
	for range 5 {
		if err = t.Click(selector); err != nil {
			return err
		}
		if err = t.waitFor(focused, focused, nil, time.Second); err == nil {
			return nil
		}
	}
	return err
}

// Press sends keys to what has the focus.
func (t *Tab) Press(keys string) error {
	if keys == kb.Enter {
		return t.enter()
	}
	return t.do(chromedp.KeyEvent(keys))
}

// WaitText waits until an element holds a text.
func (t *Tab) WaitText(selector, text string) error {
	return t.Wait(fmt.Sprintf(`document.querySelector(%s)?.innerText?.includes(%s) ?? false`, quoted(selector), quoted(text)))
}

// WaitVisible waits until an element can be seen.
func (t *Tab) WaitVisible(selector string) error {
	return t.Wait(fmt.Sprintf(`document.querySelector(%s)?.checkVisibility() ?? false`, quoted(selector)))
}

// WaitGone waits until no such element can be seen.
func (t *Tab) WaitGone(selector string) error {
	return t.Wait(fmt.Sprintf(`![...document.querySelectorAll(%s)].some((each) => each.checkVisibility())`, quoted(selector)))
}

// Count returns how many elements match.
func (t *Tab) Count(selector string) (int, error) {
	var count int
	err := t.Eval(fmt.Sprintf(`document.querySelectorAll(%s).length`, quoted(selector)), &count)
	return count, err
}

// Screenshot returns what can be seen as PNG.
func (t *Tab) Screenshot() ([]byte, error) { return chromedp.Run(t.ctx, chromedp.CaptureScreenshot()) }
