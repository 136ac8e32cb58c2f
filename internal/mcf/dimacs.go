package mcf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cellsched/cellsched/internal/fault"
)

// ErrFormat is for text that is not in the format; the error names the line.
var ErrFormat = errors.New("quincy: malformed network")

// Read reads a graph in the DIMACS format for min-cost flow. There is one line "p min
// NODES ARCS", then "n NODE SUPPLY" for each node that has one, and "a FROM TO LOW
// CAPACITY COST" for each arc. Lines that start with c are comments. Nodes count from 1.
//
// Errors name the number of the line. Memory is taken as lines come, not as the p line
// promises.
func Read(r io.Reader) (*Graph, error) {
	p := parser{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		p.line++
		if err := p.take(strings.Fields(lines.Text())); err != nil {
			return nil, fault.Newf("quincy", err, "line %d", p.line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fault.Newf("quincy", err, "line %d", p.line+1)
	}
	return p.graph()
}

type parser struct {
	line, nodes, arcs int
	supply            map[int32]int64
	g                 Graph
}

// take reads one line.
func (p *parser) take(words []string) error {
	if len(words) == 0 || strings.HasPrefix(words[0], "c") {
		return nil
	}
	if words[0] == "p" {
		return p.takeProblem(words)
	}
	if p.supply == nil {
		return fault.Newf("quincy", ErrFormat, "%q before a line \"p min NODES ARCS\"", words[0])
	}
	switch words[0] {
	case "n":
		v, err := numbers(words, "n NODE SUPPLY", 2)
		if err != nil {
			return err
		}
		return p.takeNode(v[0], v[1])
	case "a":
		v, err := numbers(words, "a FROM TO LOW CAPACITY COST", 5)
		if err != nil {
			return err
		}
		return p.takeArc(v)
	}
	return fault.Newf("quincy", ErrFormat, "%q, want c, p, n or a", words[0])
}

func (p *parser) takeProblem(words []string) error {
	if p.supply != nil {
		return fault.Newf("quincy", ErrFormat, "a second p line")
	}
	if len(words) < 2 || words[1] != "min" {
		return fault.Newf("quincy", ErrFormat, "%q, want p min NODES ARCS", strings.Join(words, " "))
	}
	v, err := numbers(words[1:], "p min NODES ARCS", 2)
	if err != nil {
		return err
	}
	if v[0] < 1 || v[0] > MaxNodes {
		return fault.Newf("quincy", ErrRange, "%d nodes, want 1 to %d", v[0], MaxNodes)
	}
	if v[1] < 0 || v[1] > MaxArcs {
		return fault.Newf("quincy", ErrRange, "%d arcs, want 0 to %d", v[1], MaxArcs)
	}
	p.nodes, p.arcs = int(v[0]), int(v[1])
	p.supply = make(map[int32]int64)
	return nil
}

func (p *parser) takeNode(node, supply int64) error {
	if node < 1 || node > int64(p.nodes) {
		return fault.Newf("quincy", ErrRange, "node %d, want 1 to %d", node, p.nodes)
	}
	if supply > MaxCapacity || supply < -MaxCapacity {
		return fault.Newf("quincy", ErrRange, "supply %d, at most ±%d", supply, int64(MaxCapacity))
	}
	if _, twice := p.supply[int32(node)]; twice {
		return fault.Newf("quincy", ErrFormat, "a second supply of node %d", node)
	}
	p.supply[int32(node)] = supply
	return nil
}

func (p *parser) takeArc(v []int64) error {
	for _, end := range v[:2] {
		if end < 1 || end > int64(p.nodes) {
			return fault.Newf("quincy", ErrRange, "node %d, want 1 to %d", end, p.nodes)
		}
	}
	if len(p.g.Arcs) == p.arcs {
		return fault.Newf("quincy", ErrFormat, "more than %d arcs", p.arcs)
	}
	a := Arc{From: int32(v[0] - 1), To: int32(v[1] - 1), Low: v[2], Cap: v[3], Cost: v[4]}
	if err := a.check(p.nodes); err != nil {
		return err
	}
	p.g.Arcs = append(p.g.Arcs, a)
	return nil
}

// graph returns what was read, if it is whole.
func (p *parser) graph() (*Graph, error) {
	if p.supply == nil {
		return nil, fault.Newf("quincy", ErrFormat, "line %d: no line \"p min NODES ARCS\"", p.line)
	}
	if n := len(p.g.Arcs); n != p.arcs {
		return nil, fault.Newf("quincy", ErrFormat, "line %d: ends after %d of %d arcs", p.line, n, p.arcs)
	}
	p.g.Supply = make([]int64, p.nodes)
	for v, s := range p.supply {
		p.g.Supply[v-1] = s
	}
	return &p.g, p.g.Check()
}

func numbers(words []string, format string, want int) ([]int64, error) {
	if len(words) != want+1 {
		return nil, fault.Newf("quincy", ErrFormat, "%d words, want %q", len(words), format)
	}
	v := make([]int64, want)
	for i, word := range words[1:] {
		var err error
		if v[i], err = strconv.ParseInt(word, 10, 64); err != nil {
			return nil, fault.Newf("quincy", ErrFormat, "%q, want a number as in %q", word, format)
		}
	}
	return v, nil
}

// Write writes g as [Read] reads it.
func (g *Graph) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	line := fmt.Appendf(nil, "p min %d %d\n", len(g.Supply), len(g.Arcs))
	for v, s := range g.Supply {
		if s != 0 {
			line = fmt.Appendf(line, "n %d %d\n", v+1, s)
		}
	}
	for _, a := range g.Arcs {
		if _, err := b.Write(line); err != nil {
			return err
		}
		line = fmt.Appendf(line[:0], "a %d %d %d %d %d\n", a.From+1, a.To+1, a.Low, a.Cap, a.Cost)
	}
	if _, err := b.Write(line); err != nil {
		return err
	}
	return b.Flush()
}
