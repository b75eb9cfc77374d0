package browsertest

import (
	"encoding/json"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// quoted makes a JavaScript string.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return `""` // a string can always be marshalled
	}
	return string(out)
}

// insert puts text where the cursor is, as if it was pasted.
func (t *Tab) insert(text string) error {
	_, err := chromedp.Call(t.ctx, input.InsertText, input.InsertTextParams{Text: text})
	return err
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
