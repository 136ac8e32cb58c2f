package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// previous reads the sections of the text below a folder, with their figures, by
// title. A folder without a text has none. A figure that is shown and not there is an
// error.
func previous(dir string) (map[string]part, error) {
	text, err := os.ReadFile(filepath.Join(dir, textFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	parts := make(map[string]part)
	_, rest, more := strings.Cut("\n"+string(text), "\n## ")
	for more {
		var section string
		section, rest, more = strings.Cut(rest, "\n## ")
		title, body, _ := strings.Cut(section, "\n")
		p := part{title: title, text: strings.TrimSpace(body)}
		for _, shown := range shownFigures.FindAllStringSubmatch(body, -1) {
			data, err := os.ReadFile(filepath.Join(dir, figureDir, shown[1]))
			if err != nil {
				return nil, fmt.Errorf("section %q of %s: %w", title, textFile, err)
			}
			p.figures = append(p.figures, file{shown[1], data})
		}
		parts[title] = p
	}
	return parts, nil
}

var shownFigures = regexp.MustCompile(`\]\(` + figureDir + `/([^/)]+\.svg)\)`)

// kept returns the section as it is, with a line that says when it was kept last, and
// why. The line that says when it was made stays.
func (p part) kept(now time.Time, why string) part {
	made, rest, _ := strings.Cut(p.text, "\n\n")
	if !strings.HasPrefix(made, madeOn) {
		made, rest = madeOn+"an unknown day.*", p.text
	}
	if strings.HasPrefix(rest, keptOn) {
		_, rest, _ = strings.Cut(rest, "\n\n")
	}
	p.text = fmt.Sprintf("%s\n\n%s%s: %s.*\n\n%s", made, keptOn, now.UTC().Format(time.DateOnly), why, rest)
	return p
}
