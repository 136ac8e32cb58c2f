package omega

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
)

// follower is a structure that the cell keeps in step with the attributes of its machines.
// It is called with the cell's mutex held.
type follower interface {
	describe(n locality.Node, attributes map[string]string)
	forget(n locality.Node)
}

// Attributes returns an index of the attributes of all machines, for constraints: see
// [locality.Attributes.Require]. The cell keeps it up to date as long as the cell lives;
// the caller only registers predicates.
//
// Attributes are texts. Those named in numbers are whole decimal numbers; other values
// are left out. Each call makes an index. Cost: O(machines × attributes).
func (c *Cell) Attributes(numbers ...string) *locality.Attributes {
	if c.none() {
		return nil
	}
	f := &attributeIndex{of: new(locality.Attributes), numbers: make(map[string]bool)}
	for _, name := range numbers {
		f.numbers[name] = true
	}
	c.follow(f)
	return f.of
}

// Topology returns the topology of the machines by their attributes. Levels are names of
// attributes from the narrowest, such as "rack" and "zone". Two machines are within a
// level if they have the same values of this attribute and of the wider ones. A machine
// without the attribute is in no group of that level. The levels are called "node", as
// the attributes, and "any".
//
// The cell keeps it up to date as long as the cell lives, and the caller does not change
// it. Each call makes a topology. Cost: O(machines × levels). Errors: those of
// [locality.New].
func (c *Cell) Topology(levels ...string) (*locality.Topology, error) {
	if c.none() {
		return nil, absent("cell")
	}
	names := append(append([]string{"node"}, levels...), "any")
	of, err := locality.New(locality.Config{Levels: names})
	if err != nil {
		return nil, fault.Newf("omega", err, "topology by attributes")
	}
	c.follow(&topologyIndex{of, levels})
	return of, nil
}

// follow describes all machines to a follower, now and as they change.
func (c *Cell) follow(f follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for m := range c.Machines() {
		f.describe(m.ID.Node(), m.Attributes)
	}
	c.followers = append(c.followers, f)
}

// describe tells followers of a machine. The mutex is held.
func (c *Cell) describe(m MachineID, attributes map[string]string) {
	for _, f := range c.followers {
		f.describe(m.Node(), attributes)
	}
}

type attributeIndex struct {
	of      *locality.Attributes
	numbers map[string]bool
}

// The names and the number are valid: the cell has checked them. So there are no errors.
func (f *attributeIndex) describe(n locality.Node, attributes map[string]string) {
	values := make(map[string]locality.Value, len(attributes))
	for name, text := range attributes {
		if !f.numbers[name] {
			values[name] = locality.Text(text)
		} else if number, err := strconv.ParseInt(text, 10, 64); err == nil {
			values[name] = locality.Number(number)
		}
	}
	_ = f.of.Describe(n, values)
}

func (f *attributeIndex) forget(n locality.Node) { _ = f.of.Forget(n) }

type topologyIndex struct {
	of     *locality.Topology
	levels []string
}

func (f *topologyIndex) describe(n locality.Node, attributes map[string]string) {
	wide := 0 // beyond the widest level of which it has the attribute
	for l, name := range f.levels {
		if _, ok := attributes[name]; ok {
			wide = l + 1
		}
	}
	groups := make([]string, 0, wide)
	for l := range wide {
		// Names of groups are digests: racks of the same name in two zones are two racks, and
		// a path may be longer than a name. A machine without the attribute of a level, but
		// with that of a wider one, is in a group of its own.
		var path strings.Builder
		path.WriteString(strconv.Itoa(l))
		for i := l; i < wide; i++ {
			if value, ok := attributes[f.levels[i]]; ok {
				_, _ = fmt.Fprintf(&path, "/%q", value)
			} else {
				_, _ = fmt.Fprintf(&path, "/%d", n)
			}
		}
		groups = append(groups, fmt.Sprintf("%x", sha256.Sum256([]byte(path.String()))))
	}
	_ = f.of.Add(n, groups...)
}

func (f *topologyIndex) forget(n locality.Node) { _ = f.of.Remove(n) }
