// Package layering holds the import rule of this module, as a test over what
// the go command lists.
//
//	resources ◀──┬── drf ◀────────┬── offers
//	             │                ├── omega/federation
//	             ├── omega ◀──────┤
//	             │                ├── omega/pool
//	locality  ◀──┴── delay ◀──────┘
//
// A package imports what its row of the table allows and its own subfolders,
// so whoever needs one of them gets, and reads, no more than that. A package
// that is not in the table fails the test: its row is decided together with
// its first file.
package layering
