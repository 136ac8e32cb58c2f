package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// mutant is one change of one source file.
type mutant struct {
	file  string   // slash-separated, relative to the root of the module
	line  int      // 1-based, 0 if not known
	in    string   // function of a drawn mutant
	name  string   // kind of the change, or what a planted mutant breaks
	edits []edit   // in the order of the file, one at least
	test  []string // arguments of go test
	more  []string // those of a second run, if the first one passes; none if nil
}

// edit replaces the bytes [from, to) of a file by text.
type edit struct {
	from, to int
	text     string
}

// source returns the content of the file with the change made.
func (m *mutant) source(original []byte) []byte {
	var out []byte
	at := 0
	for _, e := range m.edits {
		out = append(append(out, original[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, original[at:]...)
}

// key identifies the mutant across changes elsewhere in its file: the file, the
// function, the kind, and the lines that the first edit touches, before and after
// it. The old text alone would be shared by every constant 0 of the file.
func (m *mutant) key(original []byte) string {
	first := m.edits[0]
	from := 1 + bytes.LastIndexByte(original[:first.from], '\n')
	to := len(original)
	if n := bytes.IndexByte(original[first.to:], '\n'); n >= 0 {
		to = first.to + n
	}
	now := string(original[from:first.from]) + first.text + string(original[first.to:to])
	kind := m.name
	if m.in != "" {
		kind = m.in + ": " + kind
	}
	return fmt.Sprintf("%s: %s: %s → %s", m.file, kind, oneLine(string(original[from:to])), oneLine(now))
}

// oneLine returns text on one line, with runs of space as one, at most 160
// bytes of it.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "nothing"
	}
	if len(text) > 160 {
		text = strings.ToValidUTF8(text[:160], "") + "…"
	}
	return text
}

// outcome is the verdict on a mutant.
type outcome uint8

const (
	caught outcome = iota
	survived
	unbuildable // only of a drawn mutant: it is replaced by the next
)

// equivalents reads the list of mutants that change nothing which a caller can
// observe: lines "key # reason". A line without a reason is an error.
func equivalents(file string) (map[string]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for n, line := range strings.Split(string(data), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := strings.Cut(line, " # ")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: %q: want a mutant, \" # \" and the reason", file, n+1, line)
		}
		known[strings.TrimSpace(key)] = reason
	}
	return known, nil
}
