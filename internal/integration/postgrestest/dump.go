package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoDump tells that there is no pg_dump.
var ErrNoDump = errors.New("no pg_dump: install the client programs of PostgreSQL")

// Dump returns the database as pg_dump writes it down, with these further options,
// such as "--schema-only". What only psql understands is left out.
func (s *Server) Dump(ctx context.Context, dsn string, options ...string) (string, error) {
	program, err := exec.LookPath(filepath.Join(s.bin, "pg_dump"))
	if err != nil {
		if program, err = exec.LookPath("pg_dump"); err != nil {
			return "", ErrNoDump
		}
	}
	dump := exec.CommandContext(ctx, program, append([]string{"--no-owner", "--no-privileges", "--dbname", dsn}, options...)...)
	dump.Env = cleanEnvironment()
	var failure strings.Builder
	dump.Stderr = &failure
	output, err := dump.Output()
	if err != nil {
		return "", fmt.Errorf("pg_dump: %w\n%s", err, failure.String())
	}
	var text strings.Builder
	for line := range strings.Lines(string(output)) {
		if !strings.HasPrefix(line, `\`) {
			text.WriteString(line)
		}
	}
	return text.String(), nil
}
