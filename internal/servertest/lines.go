package servertest

import (
	"os"
	"strings"
	"testing"
)

// AddedLines returns the number of lines of a file between lines "//added:begin" and
// "//added:end": a program without them is the one before. Blank lines and comments do not
// count.
func AddedLines(tb testing.TB, file string) (lines int) {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	added := false
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == "//added:begin" || line == "//added:end":
			if added == strings.HasSuffix(line, "begin") {
				tb.Fatalf("servertest: %s has two lines %q in turn", file, line)
			}
			added = !added
		case added && line != "" && !strings.HasPrefix(line, "//"):
			lines++
		}
	}
	if added || lines == 0 {
		tb.Fatalf("servertest: %s has no line //added:end behind each //added:begin", file)
	}
	return lines
}
