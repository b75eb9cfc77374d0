#!/usr/bin/env bash
# A price list in a spreadsheet. The format of its cells names a language and no currency: [$-407] is German. Two
# libraries give the text that a cell shows.
#
# Guess before the run: 1234.5 with two decimals, maybe with the comma of the language. Both say the same.
# Seen (written and read by excelize v2.11.1, read by SheetJS, xlsx 0.18.5 of npm):
#   - SheetJS takes every language without a currency for dollars: German, British and Swedish prices are $1,234.50,
#     in the text of the cell and in sheet_to_csv.
#   - With a currency, [$€-407], it is right. excelize adds no sign.
#   - Neither uses the comma of the language.
#   - Of a format of three sections, excelize does not use the one for zero: "free" in SheetJS, and 0.00 there.
# What follows: an import reads the number of a cell, and takes the currency from a column of its own.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund xlsx@0.18.5 >/dev/null 2>&1
cat >go.mod <<'MOD'
module findings

go 1.25.0

require github.com/xuri/excelize/v2 v2.11.1
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/xuri/excelize/v2"
)

func main() {
	if err := run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run() error {
	file := excelize.NewFile()
	prices := []struct {
		format string
		amount float64
	}{
		{"#,##0.00", 1234.5},
		{"[$-407]#,##0.00", 1234.5},
		{"[$-809]#,##0.00", 1234.5},
		{"[$-41D]#,##0.00", 1234.5},
		{"#,##0.00 [$€-407]", 1234.5},
		{`0.00;-0.00;"free"`, 0},
	}
	for i, price := range prices {
		style, err := file.NewStyle(&excelize.Style{CustomNumFmt: &price.format})
		if err != nil {
			return err
		}
		cell := fmt.Sprintf("A%d", i+1)
		if err := file.SetCellValue("Sheet1", cell, price.amount); err != nil {
			return err
		}
		if err := file.SetCellStyle("Sheet1", cell, cell, style); err != nil {
			return err
		}
		text, err := file.GetCellValue("Sheet1", cell)
		if err != nil {
			return err
		}
		fmt.Printf("%s: excelize %s\n", price.format, text)
	}
	return file.SaveAs("prices.xlsx")
}
GO
export GOWORK=off
go mod tidy >/dev/null 2>&1
go run . >excelize
node -e '
  const { readFile, utils } = require("xlsx");
  console.log(utils.sheet_to_csv(readFile("prices.xlsx").Sheets.Sheet1, { FS: ";" }));' >sheetjs
paste -d' ' excelize <(sed 's/^/SheetJS /' sheetjs) | tee seen
diff seen - <<'SEEN'
#,##0.00: excelize 1,234.50 SheetJS 1,234.50
[$-407]#,##0.00: excelize 1,234.50 SheetJS $1,234.50
[$-809]#,##0.00: excelize 1,234.50 SheetJS $1,234.50
[$-41D]#,##0.00: excelize 1,234.50 SheetJS $1,234.50
#,##0.00 [$€-407]: excelize 1,234.50 € SheetJS 1,234.50 €
0.00;-0.00;"free": excelize 0.00 SheetJS free
SEEN
