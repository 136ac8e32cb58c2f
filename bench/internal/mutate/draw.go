package main

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// candidates returns the mutants of a package's files that are not tests, each
// package folder relative to the root.
func candidates(root, dir string) ([]mutant, error) {
	entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(dir), name))
		if err != nil {
			return nil, err
		}
		// Files for another system or under a tag of their own are not in the
		// build that is tested.
		if strings.HasPrefix(string(source), "//go:build") || strings.Contains(string(source), "\n//go:build") {
			continue
		}
		found, err := find(path.Join(dir, name), source)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// shuffle orders the candidates of a package for a draw. Kinds take turns, so
// that a short draw has some of each: there are far more constants than locks.
// The order depends on the seed and on the package alone.
func shuffle(all []mutant, dir string, seed uint64) []mutant {
	h := fnv.New64a()
	h.Write([]byte(dir)) // never fails
	rng := rand.New(rand.NewPCG(seed, h.Sum64()))
	byKind := map[string][]mutant{}
	var kinds []string
	for _, m := range all {
		if byKind[m.name] == nil {
			kinds = append(kinds, m.name)
		}
		byKind[m.name] = append(byKind[m.name], m)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		of := byKind[kind]
		rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	}
	rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	drawn := make([]mutant, 0, len(all))
	for turn := 0; len(drawn) < len(all); turn++ {
		for _, kind := range kinds {
			if of := byKind[kind]; turn < len(of) {
				drawn = append(drawn, of[turn])
			}
		}
	}
	return drawn
}
