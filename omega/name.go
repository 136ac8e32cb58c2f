package omega

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cellsched/cellsched/internal/fault"
	"github.com/cellsched/cellsched/resources"
)

// checkName returns an error unless name can be the name of a thing of this kind.
func checkName(kind, name string) error {
	if err := resources.CheckName(name); err != nil {
		return fault.New("omega", kind, err, ErrName)
	}
	return nil
}

// checkAttributes returns an error unless a machine can have these attributes.
func checkAttributes(attributes map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(attributes)) { // of several mistakes always the same is named
		if err := checkName("attribute", key); err != nil {
			return err
		}
		if value := attributes[key]; value != "" {
			if err := checkName(fmt.Sprintf("value of attribute %q", key), value); err != nil {
				return err
			}
		}
	}
	return nil
}
