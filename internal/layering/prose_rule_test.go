package layering_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// prose counts the comments of a package.
type prose struct {
	words, who      int // words, and pronouns among them
	sentences, over int // sentences, and long ones among them
	riddles         int // doc comments that begin as "X is what" or "X says whether"
}

// ceiling bounds the prose of a package: pronouns in 1,000 words, long sentences in
// 100, and riddles.
type ceiling struct {
	pronouns, long float64
	riddles        int
}

// longSentence is the number of words up to which a sentence is not long.
const longSentence = 30

// plainProse is the ceiling of a package without a row.
var plainProse = ceiling{pronouns: 1.5, long: 2}

var (
	pronoun = regexp.MustCompile(`(?i)\b(who|whom|whose|whoever|whomever|somebody|someone|nobody|anybody|anyone|everybody|everyone)\b`)
	riddle  = regexp.MustCompile(`^\w+ (is|are|says|tells) (who|what|where|whom|whether)\b`)
	item    = regexp.MustCompile(`^ *([-*+•]|\d+[.)]) +`)
	stop    = regexp.MustCompile(`[.!?][)"'’”]*\s+`)
)

// count adds the text of a comment. Code and the outputs of examples do not count. A
// list item is a paragraph of its own.
func (p *prose) count(text string, doc bool) {
	if strings.HasPrefix(text, "Output:") || strings.HasPrefix(text, "Unordered output:") {
		return
	}
	if doc && riddle.MatchString(text) {
		p.riddles++
	}
	var paragraph []string
	flush := func() {
		p.countParagraph(strings.Join(paragraph, " "))
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "\t"):
			flush()
			continue
		case item.MatchString(line):
			flush()
			line = item.ReplaceAllString(line, "")
		}
		paragraph = append(paragraph, strings.TrimSpace(line))
	}
	flush()
}

func (p *prose) countParagraph(text string) {
	p.words += len(strings.Fields(text))
	p.who += len(pronoun.FindAllString(text, -1))
	for _, sentence := range stop.Split(text, -1) {
		words := len(strings.Fields(sentence))
		if words > 3 { // less is a heading or a label
			p.sentences++
		}
		if words > longSentence {
			p.over++
		}
	}
}

func (p *prose) add(q prose) {
	p.words += q.words
	p.who += q.who
	p.sentences += q.sentences
	p.over += q.over
	p.riddles += q.riddles
}

func (p prose) pronouns() float64 { return 1000 * float64(p.who) / float64(max(p.words, 1)) }

func (p prose) long() float64 { return 100 * float64(p.over) / float64(max(p.sentences, 1)) }

// above returns the figures that exceed a ceiling. The counts of a row are rounded up:
// a ratio also rises when plain comments go.
func (p prose) above(c ceiling) (found []string) {
	exceeds := func(count, of int, limit float64) bool {
		allowed := limit * float64(of)
		if c != plainProse {
			allowed = math.Ceil(allowed)
		}
		return float64(count) > allowed+1e-9
	}
	if exceeds(p.who, p.words, c.pronouns/1000) {
		found = append(found, fmt.Sprintf("%.1f pronouns in 1,000 words, want %.1f at most", p.pronouns(), c.pronouns))
	}
	if exceeds(p.over, p.sentences, c.long/100) {
		found = append(found, fmt.Sprintf("%.1f %% of sentences over %d words, want %.1f %% at most", p.long(), longSentence, c.long))
	}
	if p.riddles > c.riddles {
		found = append(found, fmt.Sprintf("%d doc comments that begin as \"X is what\", want %d at most", p.riddles, c.riddles))
	}
	return found
}

// loose returns the figures that are so far below a row that the row has to follow: by
// a quarter of it. A row at the limits of plainProse or below may stay.
func (p prose) loose(c ceiling) (found []string) {
	lower := func(format string, figure, row, limit float64) {
		if row > limit && figure < row*3/4 {
			found = append(found, fmt.Sprintf(format+": lower the row from %.1f", max(figure, limit), row))
		}
	}
	lower("%.1f pronouns in 1,000 words", p.pronouns(), c.pronouns, plainProse.pronouns)
	lower("%.1f %% long sentences", p.long(), c.long, plainProse.long)
	lower(`%.0f doc comments that begin as "X is what"`, float64(p.riddles), float64(c.riddles), 0)
	return found
}
