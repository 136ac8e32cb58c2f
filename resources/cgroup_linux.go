package resources

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A hierarchy is one tree of cgroups that can limit memory, and the process's
// place in it. A hybrid system has two, of which only one has the controller;
// the limit's file is then missing from the other.
type hierarchy struct {
	fstype string // of its mounts
	option string // that its mounts have among their super options, if any
	file   string // that holds the limit, in each cgroup's directory
	group  string // the process's cgroup, from the root of its namespace
}

// cgroupMemory returns the smallest memory limit, in bytes, of the process's
// cgroup and its ancestors, or MaxQuantity where nothing limits it.
//
// cgroups(7) has the formats. All mounts are read and the least limit counts,
// so that it does not matter which of several the process was given.
func cgroupMemory(root fs.FS) (int64, error) {
	groups, err := hierarchies(root)
	if err != nil || len(groups) == 0 {
		return MaxQuantity, err
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return 0, err
	}
	limit := MaxQuantity
	for line := range strings.Lines(string(mounts)) {
		for _, h := range groups {
			point, below, ok := h.mount(line)
			if !ok {
				continue
			}
			least, err := h.limit(root, point, below)
			if err != nil {
				return 0, err
			}
			limit = min(limit, least)
		}
	}
	return limit, nil
}

// hierarchies reads /proc/self/cgroup, with lines of number:controllers:path
// and 0::path for v2. A kernel without cgroups has no such file.
func hierarchies(root fs.FS) ([]hierarchy, error) {
	const name = "proc/self/cgroup"
	text, err := fs.ReadFile(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []hierarchy
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		fields := strings.SplitN(line, ":", 3)
		if len(fields) < 3 || !strings.HasPrefix(fields[2], "/") {
			return nil, fmt.Errorf("/%s: %.64q, want number:controllers:/path", name, line)
		}
		switch {
		case fields[0] == "0" && fields[1] == "":
			found = append(found, hierarchy{"cgroup2", "", "memory.max", fields[2]})
		case slices.Contains(strings.Split(fields[1], ","), "memory"):
			found = append(found, hierarchy{"cgroup", "memory", "memory.limit_in_bytes", fields[2]})
		}
	}
	return found, nil
}

// mount reads a line of /proc/self/mountinfo:
//
//	36 35 98:0 /root /point rw,noatime master:1 - type source super,options
//
// Where it mounts h with the process's cgroup at or below the mount's root, it
// returns the directory that it is mounted on and the path from there down.
func (h hierarchy) mount(line string) (point, below string, ok bool) {
	before, after, _ := strings.Cut(line, " - ")
	fields, super := strings.Fields(before), strings.Fields(after)
	if len(fields) < 6 || len(super) < 3 || super[0] != h.fstype {
		return "", "", false
	}
	if h.option != "" && !slices.Contains(strings.Split(super[2], ","), h.option) {
		return "", "", false
	}
	point = unescape(fields[4])
	rootUps, root := ups(unescape(fields[3]))
	groupUps, group := ups(h.group)
	if rootUps > groupUps && strings.Trim(root, "/") == "" {
		// The mount shows an ancestor from outside the process's namespace.
		// Its limit counts; the names on the way down cannot be known.
		return point, "", true
	}
	below, ok = strings.CutPrefix(group, strings.TrimSuffix(root, "/"))
	if !ok || rootUps != groupUps || below != "" && below[0] != '/' {
		return "", "", false // it shows other cgroups than ours
	}
	return point, below, true
}

// ups cuts the leading /.. off a cgroup's path and counts them: they lead out
// of the namespace that the path is told in.
func ups(name string) (n int, rest string) {
	for name == "/.." || strings.HasPrefix(name, "/../") {
		name = name[len("/.."):]
		n++
	}
	return n, name
}

// limit returns the least limit on the way from the cgroup at below up to the
// one that is mounted on point.
func (h hierarchy) limit(root fs.FS, point, below string) (int64, error) {
	limit := MaxQuantity
	for {
		name := strings.TrimPrefix(path.Join(point, below, h.file), "/")
		text, err := fs.ReadFile(root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// A cgroup without the controller, the root of v2, or one that
			// was removed or is out of sight.
		case err != nil:
			return 0, err
		default:
			bytes, err := parseLimit(strings.TrimSpace(string(text)))
			if err != nil {
				return 0, fmt.Errorf("/%s: %w", name, err)
			}
			limit = min(limit, bytes)
		}
		if below == "" || below == "/" {
			return limit, nil
		}
		below = path.Dir(below)
	}
}

// parseLimit reads a limit in bytes. None is "max" in v2; in v1 it is the
// largest multiple of the page size below 2^63, as is any that is too large.
func parseLimit(text string) (int64, error) {
	if text == "max" {
		return MaxQuantity, nil
	}
	bytes, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.64q, want a number of bytes or max", text)
	}
	return int64(min(bytes, uint64(MaxQuantity))), nil
}

// unescape undoes what the kernel does to spaces, tabs, newlines and
// backslashes in mountinfo: a backslash and three octal digits.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
