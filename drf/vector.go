package drf

import "github.com/cellsched/cellsched/resources"

// add adds v to usage, unless v or the sum is invalid in any component.
func add(usage, v *resources.Vector) bool {
	if !addable(usage, v) {
		return false
	}
	for k := range v {
		usage[k] += v[k]
	}
	return true
}

// addable reports whether v is valid and the sum with usage is, too.
func addable(usage, v *resources.Vector) bool {
	neg := int64(0)
	for k := range v {
		// A sum past the end of int64 is negative. A sum past MaxQuantity only
		// makes the difference negative.
		sum := usage[k] + v[k]
		neg |= v[k] | sum | (resources.MaxQuantity - sum)
	}
	return neg >= 0
}

// unheld is the usage of a user that holds nothing.
var unheld resources.Vector

// nothing reports whether v is zero.
func nothing(v *resources.Vector) bool {
	some := int64(0)
	for k := range v {
		some |= v[k]
	}
	return some == 0
}
