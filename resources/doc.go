// Package resources counts what is shared: amounts of several kinds of
// resource at once, as one value.
//
//	"cpu=500m,memory=2Gi"          Vector{500, 2147483648}
//	┌─────────────────┐   Parse    ┌──────────────────────────┐
//	│ text, JSON      ├───────────▶│ Add, Sub, Fits, Scale,   │
//	│ (Space, Named)  │◀───────────┤ Max, Min, DominantShare  │
//	└────────▲────────┘   Format   └──────────────────────────┘
//	         │
//	       Host: what this process may use
//
// A [Vector] is eight integers in base units such as millicores and bytes, so
// that sums are exact and equal amounts compare equal. What its kinds are
// called, and how people write them, is known to a [Space] alone.
//
// The dominant share of a demand is that of A. Ghodsi et al., "Dominant
// resource fairness: fair allocation of multiple resource types", NSDI 2011.
// Unlike there, a demand for a kind of which there is nothing is told apart
// from a large one.
package resources
