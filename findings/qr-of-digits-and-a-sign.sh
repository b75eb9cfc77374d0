#!/usr/bin/env bash
# Codes of digits with a dash or a plus sign, put into a QR code and read again, both in Go.
#
# Guess before the run: a sign is no digit, so such a code is encoded as text and comes back as it was.
# Seen (boombuler/barcode v1.1.0 with its mode Auto, read by makiuchi-d/gozxing v0.1.1):
#   - Mode Auto tries digits first, three symbols at a time, and asks strconv.Atoi whether they are a number. "-00" and
#     "+50" are. The sign becomes a digit 0: 500-001 is read as 5000001, and 555-001234 as 5550001234.
#   - It depends on where the sign stands: 100+50 becomes 100050, and 50+10 stays.
#   - Content() of the image still has the code as it was given. Only the image has the other one.
#   - The two codes have the same image. One of them may be somebody else's.
# What follows: read what was printed before it is sent. Codes that have a letter in them are not concerned.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >go.mod <<'MOD'
module findings

go 1.25.0

require (
	github.com/boombuler/barcode v1.1.0
	github.com/makiuchi-d/gozxing v0.1.1
)
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
)

func main() {
	for _, code := range []string{"500-001", "555-001234", "500-234", "100+50", "50+10", "A00-001"} {
		content, text, err := roundTrip(code)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: Content %s, read %s\n", code, content, text)
	}
}

func roundTrip(code string) (string, string, error) {
	small, err := qr.Encode(code, qr.M, qr.Auto)
	if err != nil {
		return "", "", err
	}
	symbol, err := barcode.Scale(small, 210, 210)
	if err != nil {
		return "", "", err
	}
	page := image.NewGray(image.Rect(0, 0, 290, 290))
	draw.Draw(page, page.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(page, image.Rect(40, 40, 250, 250), symbol, image.Point{}, draw.Src)
	bitmap, err := gozxing.NewBinaryBitmapFromImage(page)
	if err != nil {
		return "", "", err
	}
	result, err := qrcode.NewQRCodeReader().Decode(bitmap, nil)
	if err != nil {
		return "", "", err
	}
	return small.Content(), result.GetText(), nil
}
GO
export GOWORK=off
go mod tidy >/dev/null 2>&1
go run . | tee seen
diff seen - <<'SEEN'
500-001: Content 500-001, read 5000001
555-001234: Content 555-001234, read 5550001234
500-234: Content 500-234, read 500-234
100+50: Content 100+50, read 100050
50+10: Content 50+10, read 50+10
A00-001: Content A00-001, read A00-001
SEEN
