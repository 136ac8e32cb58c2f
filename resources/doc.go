// Package resources provides vectors: amounts of several kinds of resource as one value.
//
//	"cpu=500m,memory=2Gi"          Vector{500, 2147483648}
//	┌─────────────────┐   Parse    ┌──────────────────────────┐
//	│ text, JSON      ├───────────▶│ Add, Sub, Fits, Scale,   │
//	│ (Space, Named)  │◀───────────┤ Max, Min, DominantShare  │
//	└────────▲────────┘   Format   └──────────────────────────┘
//	         │
//	       Host: the CPUs and memory of this process
//
// A [Vector] is eight integers in base units such as millicores and bytes, so
// that sums are exact and equal amounts compare equal. A [Space] has the names of its
// kinds and reads and writes their quantities.
//
// The dominant share of a demand is that of A. Ghodsi et al., "Dominant
// resource fairness: fair allocation of multiple resource types", NSDI 2011.
// Unlike there, a demand for an absent kind is told apart from a large one.
package resources
