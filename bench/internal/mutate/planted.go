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
// of that file alone, test: the arguments of go test. Then come, for each edit in
// the order of the source, a line "<<<<", the old text, a line "====", the new
// text and a line ">>>>". Each old text is in the source once.
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
	for more := true; more; {
		var edit string
		edit, rest, more = strings.Cut(rest, "<<<<\n")
		if err := m.add(source, edit); err != nil {
			return mutant{}, err
		}
	}
	m.line = 1 + bytes.Count(source[:m.edits[0].from], []byte("\n"))
	return m, nil
}

// add adds an edit that replaces text of the source, after those added before.
func (m *mutant) add(source []byte, text string) error {
	was, rest, ok1 := strings.Cut(text, "====\n")
	now, _, ok2 := strings.Cut(rest, ">>>>\n")
	if !ok1 || !ok2 {
		return errors.New("mutate: want the old and the new text between <<<<, ==== and >>>>")
	}
	if n := bytes.Count(source, []byte(was)); n != 1 || was == "" {
		return fmt.Errorf("%w: %s has the old text %d times, want once", errStale, m.file, n)
	}
	at := bytes.Index(source, []byte(was))
	if n := len(m.edits); n > 0 && at < m.edits[n-1].to {
		return fmt.Errorf("mutate: %s: edits are not in the order of the source", m.file)
	}
	m.edits = append(m.edits, edit{at, at + len(was), now})
	return nil
}
