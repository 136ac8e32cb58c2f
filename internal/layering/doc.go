// Package layering tests the import rule of this module, over the packages that the go
// command lists. It also tests the prose of comments, and how much packages export.
//
//	resources ◀──┬── drf ◀────────┬── offers
//	             │                ├── omega/federation
//	             ├── omega ◀──────┤
//	             │                ├── omega/pool
//	locality  ◀──┴── delay ◀──────┘
//
// A package imports the packages that its row of the table allows, and its own
// subfolders. So a user of one package gets, and reads, no more than those. A package
// that is not in the table fails the test: its row is decided together with its first
// file.
//
// Comments are counted by folder: pronouns in place of nouns, long sentences, and doc
// comments that begin as "X is what". A folder keeps to the limits, or has a row with
// ceilings that may only fall.
//
// Exported identifiers are counted by package, with methods and fields. A package has
// 60 at most, or a row with a ceiling that may only fall.
package layering
