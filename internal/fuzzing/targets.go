package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const targetsFile = "internal/fuzzing/targets.txt"

// target is a fuzz target.
type target struct {
	folder string // of the package, relative to the root
	name   string
	reads  string // what it reads, and how it knows a wrong answer
}

func (t target) String() string { return t.folder + " " + t.name }

// readTargets reads lines of folder, name and description, separated by tabs.
func readTargets(file string) ([]target, error) {
	text, err := os.ReadFile(file) //nolint:gosec // of this repository
	if err != nil {
		return nil, err
	}
	var targets []target
	for number, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "\t")
		if len(parts) != 3 {
			return nil, fmt.Errorf("%s:%d: want folder, target and description, separated by tabs", filepath.Base(file), number+1)
		}
		targets = append(targets, target{folder: parts[0], name: parts[1], reads: parts[2]})
	}
	return targets, nil
}
