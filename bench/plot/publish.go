package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Where results are, below the folder that they are written to.
const (
	textFile  = "RESULTS.md"
	figureDir = "plot/figures"
)

// file is one that is to be written.
type file struct {
	name string
	data []byte
}

// publish replaces the text and all figures below a folder, which must exist. It
// writes next to them first and renames then. If anything fails it puts the old files
// back. A process that is killed meanwhile leaves a folder with a name that
// begins with .results-; figures that were there are in it, if they are nowhere
// else. Errors: those of [check], and of the file system.
func publish(dir string, text []byte, figures []file) (err error) {
	if err := check(dir); err != nil {
		return err
	}
	stage, err := os.MkdirTemp(dir, ".results-")
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			err = errors.Join(err, os.RemoveAll(stage))
		}
	}()

	next := filepath.Join(stage, "figures")
	if err := os.Mkdir(next, 0o755); err != nil {
		return err
	}
	for _, f := range append(figures[:len(figures):len(figures)], file{"../" + textFile, text}) {
		if err := os.WriteFile(filepath.Join(next, f.name), f.data, 0o644); err != nil {
			return err
		}
	}

	parent := filepath.Dir(filepath.Join(dir, figureDir))
	made := os.Mkdir(parent, 0o755)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return made
	}
	keep, err = swap(stage, dir)
	if err != nil && made == nil {
		err = errors.Join(err, os.RemoveAll(parent))
	}
	return err
}

// swap moves staged files to their places. The figures that it replaces
// are with the staged ones meanwhile. It returns keep if they are there still,
// because they could not be put back.
func swap(stage, dir string) (keep bool, err error) {
	figures, old := filepath.Join(dir, figureDir), filepath.Join(stage, "old")
	err = os.Rename(figures, old)
	had := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	undo := func(err error) (bool, error) {
		if !had {
			return false, err
		}
		back := os.Rename(old, figures)
		return back != nil, errors.Join(err, back)
	}
	if err := os.Rename(filepath.Join(stage, "figures"), figures); err != nil {
		return undo(err)
	}
	if err := os.Rename(filepath.Join(stage, textFile), filepath.Join(dir, textFile)); err != nil {
		return undo(errors.Join(err, os.RemoveAll(figures)))
	}
	return false, nil
}

// check reports a reason not to publish below a folder, before there is anything to
// publish. Either the folder does not exist, or its folder of figures has other
// files in it, which are not ours to remove.
func check(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: is a file: want a folder", dir)
	}
	return onlyFigures(filepath.Join(dir, figureDir))
}

// onlyFigures refuses a folder that holds something else than SVG files.
func onlyFigures(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) != ".svg" {
			return fmt.Errorf("%s: is replaced as a whole: want nothing but .svg files there", filepath.Join(dir, e.Name()))
		}
	}
	return nil
}
