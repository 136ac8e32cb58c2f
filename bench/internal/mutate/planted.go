package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// errStale reports that a planted mutant no longer matches its source file.
var errStale = errors.New("mutate: stale mutant")

// planted reads the mutants below a folder, in the order of the files' names.
//
// A file begins with lines "key: value": breaks, file and, if not the package
// of that file alone, test: the arguments of go test. Then come a line "<<<<",
// the old text, a line "====", the new text and a line ">>>>". The old text is
// in the source once.
func planted(root, dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		m, err := readPlanted(root, file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		all = append(all, m)
	}
	return all, nil
}

func readPlanted(root, file string) (mutant, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return mutant{}, err
	}
	head, rest, _ := strings.Cut(string(data), "<<<<\n")
	was, rest, ok1 := strings.Cut(rest, "====\n")
	now, _, ok2 := strings.Cut(rest, ">>>>\n")
	if !ok1 || !ok2 {
		return mutant{}, errors.New("mutate: want the old and the new text between <<<<, ==== and >>>>")
	}
	var m mutant
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "breaks":
			m.name = value
		case "file":
			m.file = value
		case "test":
			m.test = strings.Fields(value)
		default:
			return mutant{}, fmt.Errorf("mutate: line %q: want breaks, file or test", line)
		}
	}
	if m.name == "" || m.file == "" {
		return mutant{}, errors.New("mutate: want breaks and file")
	}
	if m.test == nil {
		m.test = []string{"./" + path.Dir(m.file)}
	}
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return mutant{}, err
	}
	if n := bytes.Count(source, []byte(was)); n != 1 || was == "" {
		return mutant{}, fmt.Errorf("%w: %s has the old text %d times, want once", errStale, m.file, n)
	}
	at := bytes.Index(source, []byte(was))
	m.line = 1 + bytes.Count(source[:at], []byte("\n"))
	m.edit = edit{at, at + len(was), now}
	return m, nil
}
