package federation

import (
	"iter"
	"maps"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
)

// Split divides so many machines of a cell, numbered from 0, into one partition for each
// global master: of consecutive numbers, as equal as may be.
func Split(machines int, globals ...string) map[string]omega.Mask {
	parts := make(map[string]omega.Mask, len(globals))
	for i, name := range globals {
		from, to := machines*i/len(globals), machines*(i+1)/len(globals)
		parts[name] = omega.NewMask(numbers(from, to))
		if parts[name] == nil {
			parts[name] = omega.Mask{} // a nil mask has all machines
		}
	}
	return parts
}

func numbers(from, to int) iter.Seq[locality.Node] {
	return func(yield func(locality.Node) bool) {
		for n := from; n < to && yield(locality.Node(n)); n++ {
		}
	}
}

// checkPartitions verifies that each machine of a cell is in one partition, and that
// there is one for the global master.
func checkPartitions(cell *omega.Cell, parts map[string]omega.Mask, global string) error {
	if parts == nil {
		return nil
	}
	if _, ok := parts[global]; !ok {
		return invalid("partitions of %d global masters: want one of %s", len(parts), fault.Quote(global))
	}
	names := slices.Sorted(maps.Keys(parts))
	for m := range cell.Machines() {
		in := ""
		for _, name := range names {
			switch {
			case !parts[name].Has(m.ID.Node()):
			case in != "":
				return invalid("machine %s is in the partitions of %s and %s: want one", fault.Quote(m.Name), fault.Quote(in), fault.Quote(name))
			default:
				in = name
			}
		}
		if in == "" {
			return invalid("machine %s is in no partition: want one", fault.Quote(m.Name))
		}
	}
	return nil
}
