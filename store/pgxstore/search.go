package pgxstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A trigram index finds a text by reading the lists of all its trigrams. Short lists
// are read at once; but of the code SUMMER-JNP2G9WVA it reads those of "summer" too,
// which are long where many codes begin so. Such a text is looked for by its rare part
// alone, and what was found is held to the whole.
const (
	shortText = 10 // a text of fewer letters is looked for as a whole
	trigram   = 3
	maxPieces = 12
	shortPart = 4     // a part of fewer letters is not rare
	rareShare = 1_000 // a piece that more than one in so many coupons has is not rare
)

// addSearch narrows a list to the coupons whose search text holds the folded text.
// part is a part of it by which the index is to look, or the whole.
func (f *filter) addSearch(text, part string) {
	f.add("c.search_text LIKE ?", likePattern(part))
	if part != text {
		f.add("strpos(c.search_text, ?) > 0", text) // which no index serves
	}
}

// searchMode is how the statements of a search are sent. How one is best done depends
// on how often its text occurs, which PostgreSQL estimates only when it plans with the
// text at hand: such a statement is not prepared.
func (s *Store) searchMode() pgx.QueryExecMode {
	if s.mode == 0 || s.mode == pgx.QueryExecModeCacheStatement {
		return pgx.QueryExecModeExec
	}
	return s.mode
}

// lookFor returns the part of the folded text by which the index is to look for it. It
// asks PostgreSQL how many rows it expects to have each piece of the text, which costs
// a plan and reads no row.
func (s *Store) lookFor(ctx context.Context, on session, text string) (string, error) {
	if len(text) < shortText {
		return text, nil
	}
	pieces := piecesOf(text)
	if len(pieces) < 2 {
		return text, nil
	}
	rare, err := s.expectedRare(ctx, on, text, pieces)
	if err != nil {
		return "", err
	}
	return rarest(text, pieces, rare), nil
}

// piece is a part of a text, in bytes: from inclusive, to exclusive.
type piece struct{ from, to int }

// piecesOf cuts the words of a text into pieces of at least a trigram. Words are made
// of letters and digits of ASCII: what else has trigrams depends on the locale of the
// database. What is shorter than a trigram is left out.
func piecesOf(text string) []piece {
	size := max(trigram, len(text)/maxPieces)
	var pieces []piece
	for from := 0; from < len(text); {
		if !inWord(text[from]) {
			from++
			continue
		}
		end := from
		for end < len(text) && inWord(text[end]) {
			end++
		}
		for end-from >= trigram {
			to := end
			if end-from >= size+trigram {
				to = from + size
			}
			pieces = append(pieces, piece{from, to})
			from = to
		}
		from = end
	}
	return pieces
}

func inWord(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' }

// rarest returns the longest part of the text that is made of adjacent rare pieces; the
// whole text if all pieces are rare, or if the part is too short.
func rarest(text string, pieces []piece, rare []bool) string {
	best, run := piece{}, piece{}
	for i, p := range pieces {
		if !rare[i] {
			continue
		}
		if run.to != p.from {
			run.from = p.from
		}
		run.to = p.to
		if run.to-run.from > best.to-best.from {
			best = run
		}
	}
	if !slices.Contains(rare, false) || best.to-best.from < shortPart {
		return text
	}
	return text[best.from:best.to]
}

// expectedRare tells of each piece whether PostgreSQL expects few coupons to have it. The
// limits keep the plan cheap, so that it is neither compiled nor split among workers.
func (s *Store) expectedRare(ctx context.Context, on session, text string, pieces []piece) ([]bool, error) {
	branches, patterns := []string{"(SELECT FROM {coupons} every LIMIT 1)"}, make([]any, len(pieces))
	for i, p := range pieces {
		branches = append(branches, fmt.Sprintf("(SELECT FROM {coupons} p%d WHERE p%d.search_text LIKE $%d LIMIT 1)", i, i, i+1))
		patterns[i] = likePattern(text[p.from:p.to])
	}
	var document []byte
	statement := s.names.expand("EXPLAIN (FORMAT JSON) " + strings.Join(branches, " UNION ALL "))
	if err := queryRowOn(ctx, on, s.searchMode(), statement, []any{&document}, patterns...); err != nil {
		return nil, err
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(document, &plans); err != nil {
		return nil, fmt.Errorf("read a plan: %w", err)
	}
	if len(plans) != 1 {
		return nil, fmt.Errorf("%d plans for one statement", len(plans))
	}
	most := max(plans[0].Plan.rowsOf("every")/rareShare, 1)
	rare := make([]bool, len(pieces))
	for i := range pieces {
		rare[i] = plans[0].Plan.rowsOf(fmt.Sprintf("p%d", i)) <= most
	}
	return rare, nil
}

// planNode is a step of a plan of PostgreSQL.
type planNode struct {
	Alias string
	Rows  float64 `json:"Plan Rows"`
	Plans []planNode
}

// rowsOf returns how many rows are expected of the table with that alias.
func (n planNode) rowsOf(alias string) float64 {
	if n.Alias == alias {
		return n.Rows
	}
	rows := 0.0
	for _, child := range n.Plans {
		rows = max(rows, child.rowsOf(alias))
	}
	return rows
}
