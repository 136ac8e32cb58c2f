//go:build !pools

package main

import (
	"errors"

	"github.com/cellsched/cellsched/resources"
)

func newPools(resources.Vector) (order, error) {
	return nil, errors.New("order pools is not in this build, want -tags pools")
}
