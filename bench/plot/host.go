package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// machine describes the machine that this runs on. The processor has a name only
// where the operating system tells it in a file.
func machine() string {
	name := ""
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		name = processor(string(info))
	}
	return fmt.Sprintf("%s/%s, %s%d cores, %s", runtime.GOOS, runtime.GOARCH, name, runtime.NumCPU(), runtime.Version())
}

// processor finds the name of the first processor, with a comma behind it.
func processor(info string) string {
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value) + ", "
		}
	}
	return ""
}
