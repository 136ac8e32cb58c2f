package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"time"

	"github.com/cellsched/cellsched/bench/trace"
	"github.com/cellsched/cellsched/resources"
)

// source is the files that jobs and machines are read from.
type source struct {
	trace, format string
	nodes         string
	machines      int
	rackSize      int
	size          resources.Vector
	mapReduce     trace.MapReduce
	users         string
	spread        int
	window        int
	compress      int
}

// jobs returns the jobs that are read from r, by submission.
func (s *source) jobs(r io.Reader, weights map[string]float64) (jobs iter.Seq2[trace.Job, error], err error) {
	switch s.format {
	case "alibaba":
		jobs = trace.Alibaba(s.trace, r)
	case "swim":
		jobs = trace.SWIM(s.trace, r, s.mapReduce)
	case "rumen":
		jobs = trace.Rumen(s.trace, r)
	case "csv":
		jobs = trace.CSV(s.trace, r, trace.Space())
	default:
		return nil, fmt.Errorf("format %q, want alibaba, swim, rumen or csv", s.format)
	}
	if s.spread > 0 {
		jobs = spread(jobs, s.spread)
	}
	if weights != nil {
		jobs = trace.Known(s.trace, jobs, weights)
	}
	return compress(trace.Sorted(s.trace, jobs, s.window), s.compress), nil
}

// compress divides the times of submission by n, and nothing else.
func compress(jobs iter.Seq2[trace.Job, error], n int) iter.Seq2[trace.Job, error] {
	return func(yield func(trace.Job, error) bool) {
		for j, err := range jobs {
			j.Submit /= time.Duration(n)
			if !yield(j, err) {
				return
			}
		}
	}
}

// spread gives the jobs without a user to n users in turn.
func spread(jobs iter.Seq2[trace.Job, error], n int) iter.Seq2[trace.Job, error] {
	return func(yield func(trace.Job, error) bool) {
		i := 0
		for j, err := range jobs {
			if err == nil && j.User == "" {
				j.User = "user" + strconv.Itoa(i%n)
				i++
			}
			if !yield(j, err) {
				return
			}
		}
	}
}

// weights reads the table of users, nil without one.
func (s *source) weights() (weights map[string]float64, err error) {
	if s.users == "" {
		return nil, nil
	}
	f, err := trace.Open(s.users)
	if err != nil {
		return nil, err
	}
	weights, err = trace.Users(s.users, f)
	return weights, errors.Join(err, f.Close())
}

// fleet returns the machines: those of a file, so many that are alike, or for
// Rumen those that the trace says hold data.
func (s *source) fleet() (fleet []trace.Machine, err error) {
	switch {
	case s.nodes != "":
		return read(s.nodes, func(r io.Reader) iter.Seq2[trace.Machine, error] {
			switch s.format {
			case "alibaba":
				return trace.AlibabaNodes(s.nodes, r)
			case "rumen":
				return trace.RumenNodes(s.nodes, r, s.size)
			}
			return trace.CSVNodes(s.nodes, r, trace.Space())
		})
	case s.machines == 0 && s.format == "rumen":
		info, err := os.Stat(s.trace)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: not a regular file, and its machines and its jobs are read one after the other: want -machines or -nodes", s.trace)
		}
		fleet, err := read(s.trace, func(r io.Reader) iter.Seq2[trace.Machine, error] {
			return holders(trace.Rumen(s.trace, r), s.size)
		})
		if err == nil && len(fleet) == 0 {
			err = fmt.Errorf("%s: no job names a place, want -machines or -nodes", s.trace)
		}
		return fleet, err
	case s.machines < 1:
		return nil, fmt.Errorf("machines %d, want 1 or more, or -nodes", s.machines)
	}
	for i := range s.machines {
		m := trace.Machine{Name: "m" + strconv.Itoa(i), Capacity: s.size}
		if s.rackSize > 0 {
			m.Rack = "r" + strconv.Itoa(i/s.rackSize)
		}
		fleet = append(fleet, m)
	}
	return fleet, nil
}

// holders walks the nodes that jobs name as places, each once.
func holders(jobs iter.Seq2[trace.Job, error], size resources.Vector) iter.Seq2[trace.Machine, error] {
	return func(yield func(trace.Machine, error) bool) {
		seen := map[string]bool{}
		for j, err := range jobs {
			if err != nil {
				yield(trace.Machine{}, err)
				return
			}
			for i := range j.Work {
				for _, p := range j.Work[i].Places {
					if seen[p.Node] {
						continue
					}
					seen[p.Node] = true
					if !yield(trace.Machine{Name: p.Node, Rack: p.Rack, Capacity: size, Line: j.Work[i].Line, Column: int(j.Work[i].At.Data)}, nil) {
						return
					}
				}
			}
		}
	}
}

// read reads all machines of a file, each of which is to be there once.
func read(path string, machines func(io.Reader) iter.Seq2[trace.Machine, error]) (all []trace.Machine, err error) {
	f, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	begin := map[string]int{}
	for m, e := range machines(f) {
		if err = e; err != nil {
			break
		}
		if at, ok := begin[m.Name]; ok {
			err = &trace.Error{
				File: path, Line: m.Line, Column: m.Column, Reason: trace.ErrValue,
				Detail: fmt.Sprintf("machine %q, want each once: it is on line %d, too", clip(m.Name), at),
			}
			break
		}
		begin[m.Name] = m.Line
		all = append(all, m)
	}
	return all, errors.Join(err, f.Close())
}
