package locality

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cellsched/cellsched/internal/fault"
)

// Config describes a [Topology].
//
// The zero Config has the levels node, rack, zone and any, and no nodes.
type Config struct {
	// Levels are the names of the levels, nearest first, 2 to [MaxLevels] of them.
	// The first is the node itself, the last is everywhere, and the others are
	// kinds of group. Nil means node, rack, zone, any. If a Node is less than a
	// machine, such as a process or a NUMA node, the machine is one kind of group:
	// process, machine, rack, any.
	Levels []string

	// Parents maps a group to the group around it, one level up. A group that is no
	// key, or has the parent "", has nothing around it but the last level.
	Parents map[string]string

	// Nodes has at index i the smallest group around node i, "" for none.
	Nodes []string
}

// checkNames returns an error unless names can be the levels of a topology.
func checkNames(names []string) error {
	if len(names) < 2 || len(names) > MaxLevels {
		return fmt.Errorf("locality: topology: %d levels %s, want 2 to %d", len(names), fault.List(fmt.Sprintf("%q", names)), MaxLevels)
	}
	for l, name := range names {
		if err := checkName(fmt.Sprint("topology: level ", l), name); err != nil {
			return err
		}
		if first := slices.Index(names, name); first < l {
			return fmt.Errorf("locality: topology: levels %d and %d are both named %q, want distinct names", first, l, name)
		}
	}
	return nil
}

// groupLevels returns the level of every group.
func (cfg Config) groupLevels(names []string) (map[string]int, error) {
	if err := cfg.checkCycles(); err != nil {
		return nil, err
	}

	// below names, for the error, the node or group that gave each group its level.
	levels, below := make(map[string]int), make(map[string]string)
	climb := func(group, from string) error {
		for l := 1; group != ""; l++ {
			if l > len(names)-2 {
				return fmt.Errorf("locality: topology: group %q around %s would be at level %d, want groups below the last level, %d %q",
					group, from, l, len(names)-1, names[len(names)-1])
			}
			if had, ok := levels[group]; ok {
				if had != l {
					return fmt.Errorf("locality: topology: group %q is at level %d %q around %s, and at level %d %q around %s, want one level",
						group, had, names[had], below[group], l, names[l], from)
				}
				return nil // the way up from here has been walked
			}
			if err := checkName("topology: group around "+from, group); err != nil {
				return err
			}
			levels[group], below[group] = l, from
			group, from = cfg.Parents[group], fmt.Sprintf("group %q", group)
		}
		return nil
	}

	for n, group := range cfg.Nodes {
		if levels[group] == 1 {
			continue // as another node: no need to name this one
		}
		if err := climb(group, fmt.Sprintf("node %d", n)); err != nil {
			return nil, err
		}
	}
	named := make(map[string]bool, len(cfg.Parents))
	for _, parent := range cfg.Parents {
		named[parent] = true
	}
	// In order, so that of several mistakes the same one is reported each time.
	for _, group := range slices.Sorted(maps.Keys(cfg.Parents)) {
		if named[group] {
			continue // reached from the group that names it
		}
		if err := climb(group, "nothing"); err != nil {
			return nil, err
		}
	}
	return levels, nil
}

// checkCycles returns an error if a group lies around itself, or has no name. It
// checks the names of Parents first, since the other errors print them.
func (cfg Config) checkCycles() error {
	for _, group := range slices.Sorted(maps.Keys(cfg.Parents)) {
		if err := checkName("topology: group", group); err != nil {
			return err
		}
		if parent := cfg.Parents[group]; parent != "" {
			if err := checkName(fmt.Sprintf("topology: group around group %q", group), parent); err != nil {
				return err
			}
		}
	}
	seenBy := make(map[string]int, len(cfg.Parents)) // group -> walk, from 1
	for i, start := range slices.Sorted(maps.Keys(cfg.Parents)) {
		var path []string
		group := start
		for ; group != "" && seenBy[group] == 0; group = cfg.Parents[group] {
			seenBy[group] = i + 1
			path = append(path, group)
		}
		if group != "" && seenBy[group] == i+1 {
			circle := slices.Concat(path[slices.Index(path, group):], []string{group})
			return fmt.Errorf("locality: topology: groups %s: cycle", fault.List(strings.Join(circle, " -> ")))
		}
	}
	return nil
}
