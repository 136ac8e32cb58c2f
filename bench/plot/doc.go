// Plot runs the experiments of package bench and shows them. It draws figures with the
// axes of the Omega paper, and one of a rogue scheduler, which that has not. It writes a
// text with the findings of the paper, the findings here, and the differences.
//
//	go -C bench/plot run .                       all: plot/figures/*.svg and RESULTS.md below bench
//	go -C bench/plot run . -hours 24 -seeds 20   longer runs, and more of them
//	go -C bench/plot run . -only modes,elastic   some studies; the sections of the others are kept
//	go -C bench/plot run . -quick -o scratch     seconds: does it work?
//
// A study without its recordings keeps the section and the figures of an
// earlier run, if there are any. Each section says when and how it was made, and when
// it was kept.
//
// An experiment is a study: a function from settings to a section, in a file of
// its own.
//
//	bench/sim/experiments ─────┐  rows   ┌─ study ─┐ section  ┌─▶ markdown ─┐ all, or
//	                           ├────────▶│ tables  ├─────────▶│             ├▶ nothing:
//	bench/elastic/experiments ─┘         │ claims  │          └─▶ SVG ──────┘ publish
//	                                     │ figures │
//	                                     └─────────┘
//
// Everything is in virtual time, so results do not depend on the machine. The
// same flags give the same bytes of SVG; RESULTS.md also has the date and the
// machine. Files are replaced when all of them are there: an error, or an
// interrupt, leaves the earlier ones.
//
// It is a module of its own, so that the core's go.mod stays without
// gonum.org/v1/plot. That is pinned to v0.17.0 of September 2025, under the BSD
// licence. Gonum's authors maintain it (its repository went on to Go 1.26 in
// April 2026). go-hep draws the plots of high-energy physics with it, and Debian
// and Fedora package it. Its README says that its interface may still change. So
// axes, lines, legends and SVG are in chart.go and style.go, and studies know no
// more of it than its pairs of numbers.
package main
