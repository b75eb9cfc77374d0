package codecsv

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/validation"
)

// begins has the characters that make a spreadsheet run a cell as a formula, with their full-width
// forms.
const begins = "=+-@\t\r\n＝＋－＠"

// shortened matches a long number in the form that spreadsheets display.
var shortened = regexp.MustCompile(`^[0-9][.,][0-9]+[eE]\+[0-9]+$`)

// harmful reports whether a spreadsheet would run or change a cell. It also returns true for cells that
// look like results of [Harmless].
func harmful(cell string) bool {
	cell = strings.TrimLeft(cell, "'")
	return cell != "" && strings.IndexAny(cell, begins) == 0 || shortened.MatchString(cell)
}

// Harmless returns a cell that no spreadsheet runs or changes: it adds an apostrophe before a cell that begins like a
// formula, or looks like a shortened number. The [Writer] writes such cells, and the [Reader] takes the apostrophe away.
func Harmless(cell string) string {
	if harmful(cell) {
		return "'" + cell
	}
	return cell
}

// original returns the value of a cell. It is the inverse of [Harmless]. It also unwraps ="text".
func original(cell string) string {
	if rest, guarded := strings.CutPrefix(cell, "'"); guarded {
		if harmful(rest) {
			return rest
		}
		return cell
	}
	if inside, formula := strings.CutPrefix(cell, `="`); formula {
		if inside, formula = strings.CutSuffix(inside, `"`); formula && !strings.Contains(inside, `"`) {
			return inside
		}
	}
	return cell
}

// count reads a whole number. The number may have one or two decimals of 0.
func count(cell string) (int, error) {
	cell = strings.TrimSpace(cell)
	whole, decimals, found := strings.Cut(strings.ReplaceAll(cell, ",", "."), ".")
	if found && decimals != "0" && decimals != "00" {
		return 0, validation.New("", validation.Malformed, "must be a whole number without separators")
	}
	if whole == "" || strings.Trim(whole, "0123456789") != "" {
		return 0, validation.New("", validation.Malformed, "must be a whole number")
	}
	n, err := strconv.Atoi(whole)
	if err != nil {
		return 0, validation.New("", validation.TooLarge, "must be a smaller number")
	}
	return n, nil
}

// truth reads a word for true or false, in the languages of spreadsheets.
func truth(cell string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(cell)) {
	case "true", "1", "yes", "y", "wahr", "ja", "vrai", "oui", "vero", "verdadero", "waar":
		return true, nil
	case "false", "0", "no", "n", "falsch", "nein", "faux", "non", "falso", "onwaar":
		return false, nil
	}
	return false, validation.New("", validation.Malformed, "must be true or false")
}
