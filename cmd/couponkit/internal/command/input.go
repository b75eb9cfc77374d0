package command

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// maxDocument is the maximum length of a JSON document, in bytes. A coupon may have a million addresses.
const maxDocument = 64 << 20

// open opens the file of a flag. A dash is standard input.
func (t *tool) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(t.In), nil
	}
	return os.Open(name) //nolint:gosec // the person names the file
}

// read reads a whole document.
func (t *tool) read(name string) ([]byte, error) {
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxDocument)
	}
	return data, err
}

// fileFlag adds the flag of an input.
func fileFlag(c *cobra.Command, name *string, what string) {
	c.Flags().StringVarP(name, "file", "f", "-", what+"; - is standard input")
	_ = c.MarkFlagFilename("file")
}

// dryRunFlag adds the flag of commands that change something.
func dryRunFlag(c *cobra.Command, dryRun *bool) {
	c.Flags().BoolVar(dryRun, "dry-run", false, "check everything and print the result, but change nothing")
}
