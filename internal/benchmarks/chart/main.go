// Command chart draws the recorded results as SVG files, one for each figure, that
// can be read on light and dark pages:
//
//	go run ./chart                  # from results into results
//	go run ./chart -only quote
//
// A figure whose results are not recorded is left out, and said to be.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

func main() {
	folder := flag.String("results", "results", "the folder of the recorded results")
	target := flag.String("out", "results", "the folder for the charts")
	only := flag.String("only", "", "the name of one figure; empty is all")
	flag.Parse()
	if err := run(*folder, *target, *only); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(folder, target, only string) error {
	drawn := false
	for _, f := range figures() {
		if only != "" && f.name != only {
			continue
		}
		drawn = true
		results, err := record.ReadDir(folder, f.results)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "chart: %s is not recorded, no %s.svg\n", f.results, f.name)
			continue
		}
		if err != nil {
			return err
		}
		svg, err := f.draw(results)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		path := filepath.Join(target, f.name+".svg")
		if err := os.WriteFile(path, svg, 0o644); err != nil {
			return err
		}
		fmt.Println(path)
	}
	if !drawn {
		return fmt.Errorf("there is no figure %q", only)
	}
	return nil
}
