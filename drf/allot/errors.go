package allot

import "github.com/cellsched/cellsched/drf/internal/check"

// self is the package in front of its errors.
const self check.Package = "allot"
