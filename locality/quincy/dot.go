package quincy

import (
	"fmt"
	"io"
	"strings"

	net "github.com/cellsched/cellsched/internal/slots"
	"github.com/cellsched/cellsched/locality"
)

// WriteDOT writes the graph in the language of Graphviz. [Planner.WriteNetwork] is
// the same for solvers. It shows:
//
//   - tasks with the costs of their arcs at the latest time that the planner knows,
//     the arcs in use bold;
//   - machines with their slots in use, racks, and the cluster;
//   - jobs with their shares and the number of running tasks.
//
// It is for graphs of some dozen tasks; larger ones cannot be read. The same calls
// write the same text. Errors are the writer's.
func (p *Planner[J, T]) WriteDOT(w io.Writer) error {
	if p.none() {
		return absent("planner")
	}
	b := &strings.Builder{}
	b.WriteString("digraph quincy {\n\trankdir=LR\n\tnode [shape=box]\n\tsink\n")
	for at := range p.targets {
		p.drawLocation(b, net.Loc(at))
	}
	for number := range p.tasks {
		if p.tasks[number].live {
			p.drawTask(b, int32(number))
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// drawLocation writes a location and the arc that leads to it, or from it to the
// sink.
func (p *Planner[J, T]) drawLocation(b *strings.Builder, at net.Loc) {
	t := p.targets[at]
	most, used := p.net.Room(at)
	switch t.kind {
	case toCluster:
		if at == p.cluster {
			fmt.Fprintf(b, "\tl%d [label=%s]\n", at, label("cluster", fmt.Sprintf("%d of %d slots", used, most)))
		}
	case toRack:
		fmt.Fprintf(b, "\tl%d [label=%s]\n\tl%d -> l%d\n", at, label(t.String(), fmt.Sprintf("%d of %d slots", used, most)), p.cluster, at)
	case toMachine:
		n := locality.Node(t.at)
		if p.machineAt.get(n) != at {
			return // it has been removed
		}
		rack, _ := p.racks.Of(n)
		fmt.Fprintf(b, "\tl%d [label=%s]\n\tl%d -> l%d\n\tl%d -> sink\n", at, label(t.String(), fmt.Sprintf("%d of %d slots", used, most)), p.rackAt.get(rack), at, at)
	case toUnscheduled:
		j := p.jobAt(at)
		if j == nil {
			return
		}
		runs := fmt.Sprintf("%d of %d run, want %d to %d", j.running, j.tasks, j.low, j.top)
		fmt.Fprintf(b, "\tl%d [label=%s]\n\tl%d -> sink\n", at, label("unscheduled", fmt.Sprint(j.key), runs), at)
	}
}

func (p *Planner[J, T]) drawTask(b *strings.Builder, number int32) {
	it := &p.tasks[number]
	fmt.Fprintf(b, "\tt%d [shape=ellipse label=%s]\n", number, label(fmt.Sprint(it.key), fmt.Sprint(it.job.key)))
	sits, _, placed := p.net.At(number)
	p.options = p.net.Options(p.options[:0], number)
	for _, o := range p.options {
		style := ""
		if placed && o.At == sits {
			style = " style=bold"
		}
		fmt.Fprintf(b, "\tt%d -> l%d [label=%d%s]\n", number, o.At, o.Base+int64(o.Slope)*p.now, style)
	}
}

// label quotes lines, so that no character in them is special to Graphviz.
func label(lines ...string) string {
	for i, line := range lines {
		line = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(line, "\uFFFD"))
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(line)
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
