package resources_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

const (
	gib = 1 << 30

	// Lines of mountinfo as a systemd machine has them.
	mountV2     = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountV1     = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:17 - cgroup cgroup rw,memory\n"
	mountV1CPU  = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
	mountHybrid = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
	mountRoot   = "23 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"

	// What v1 says where nothing is limited: 2^63 rounded down to a page.
	unlimitedV1 = "9223372036854771712\n"
)

// tree is a made-up root directory: contents by path.
func tree(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:       16777216 kB\nMemFree:  12 kB\n")}} // 16 GiB
	for name, text := range files {
		if text == "-" {
			delete(root, name)
			continue
		}
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestHost_MemoryIsTheSmallestLimit(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  int64
	}{
		"no cgroups in the kernel": {nil, 16 * gib},
		"v2 limit": {map[string]string{
			"proc/self/cgroup":             "0::/app\n",
			"proc/self/mountinfo":          mountRoot + mountV2,
			"sys/fs/cgroup/app/memory.max": "1073741824\n",
		}, gib},
		"v2 max": {map[string]string{
			"proc/self/cgroup":             "0::/app\n",
			"proc/self/mountinfo":          mountV2,
			"sys/fs/cgroup/app/memory.max": "max\n",
		}, 16 * gib},
		"v2 limit above the machine": {map[string]string{
			"proc/self/cgroup":             "0::/app\n",
			"proc/self/mountinfo":          mountV2,
			"sys/fs/cgroup/app/memory.max": "1099511627776\n",
		}, 16 * gib},
		"v2 limit at an ancestor": {map[string]string{
			"proc/self/cgroup":                        "0::/user.slice/a/b\n",
			"proc/self/mountinfo":                     mountV2,
			"sys/fs/cgroup/user.slice/memory.max":     "2147483648\n",
			"sys/fs/cgroup/user.slice/a/memory.max":   "4294967296\n",
			"sys/fs/cgroup/user.slice/a/b/memory.max": "max\n",
		}, 2 * gib},
		"v2 controller off in the leaf": {map[string]string{
			"proc/self/cgroup":                    "0::/user.slice/a\n",
			"proc/self/mountinfo":                 mountV2,
			"sys/fs/cgroup/user.slice/memory.max": "2147483648\n",
		}, 2 * gib},
		"v2 container with its own namespace": {map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"proc/self/mountinfo":      "900 880 0:28 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/memory.max": "536870912\n",
		}, gib / 2},
		"v2 container without one": {map[string]string{
			"proc/self/cgroup":         "0::/docker/1f\n",
			"proc/self/mountinfo":      "900 880 0:28 /docker/1f /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/memory.max": "536870912\n",
		}, gib / 2},
		"v2 mount that shows an ancestor outside the namespace": {map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"proc/self/mountinfo":      "900 880 0:28 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/memory.max": "3221225472\n",
		}, 3 * gib},
		"v2 moved out of the namespace, seen through it": {map[string]string{
			"proc/self/cgroup":              "0::/../init\n",
			"proc/self/mountinfo":           "900 880 0:28 /.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/init/memory.max": "3221225472\n",
		}, 3 * gib},
		"v2 mount of another process's cgroup": {map[string]string{
			"proc/self/cgroup":         "0::/docker/1f\n",
			"proc/self/mountinfo":      "900 880 0:28 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/memory.max": "5\n",
		}, 16 * gib},
		"v2 namespace of another process": {map[string]string{
			"proc/self/cgroup":         "0::/../init\n",
			"proc/self/mountinfo":      mountV2,
			"sys/fs/cgroup/memory.max": "5\n",
		}, 16 * gib},
		"v2 mounted twice": {map[string]string{
			"proc/self/cgroup":      "0::/app\n",
			"proc/self/mountinfo":   mountV2 + "77 23 0:28 /app /mnt/own rw - cgroup2 cgroup2 rw\n",
			"mnt/own/memory.max":    "1073741824\n",
			"sys/fs/cgroup/ignored": "",
		}, gib},
		"v2 mounted twice, the smaller limit first": {map[string]string{
			"proc/self/cgroup":             "0::/app\n",
			"proc/self/mountinfo":          "77 23 0:28 /app /mnt/own rw - cgroup2 cgroup2 rw\n" + mountV2,
			"mnt/own/memory.max":           "1073741824\n",
			"sys/fs/cgroup/app/memory.max": "2147483648\n",
		}, gib},
		"v2 on a mount point with a space": {map[string]string{
			"proc/self/cgroup":    "0::/\n",
			"proc/self/mountinfo": `77 23 0:28 / /mnt/c\040g rw - cgroup2 cgroup2 rw` + "\n",
			"mnt/c g/memory.max":  "1073741824\n",
			"mnt/c\\040g/ignored": "",
		}, gib},
		"v1 limit": {map[string]string{
			"proc/self/cgroup":                               "5:cpu,cpuacct:/x\n4:memory:/app\n1:name=systemd:/init\n",
			"proc/self/mountinfo":                            mountV1CPU + mountV1,
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     unlimitedV1,
			"sys/fs/cgroup/cpu/app/memory.limit_in_bytes":    "5\n", // of no memory controller
			"sys/fs/cgroup/cpu/memory.limit_in_bytes":        "5\n",
		}, gib},
		"v1 unlimited": {map[string]string{
			"proc/self/cgroup":                               "4:memory:/app\n",
			"proc/self/mountinfo":                            mountV1,
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": unlimitedV1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "18446744073709551615\n",
		}, 16 * gib},
		"v1 limit at an ancestor": {map[string]string{
			"proc/self/cgroup":    "4:hugetlb,memory:/kube/pod\n",
			"proc/self/mountinfo": mountV1,
			"sys/fs/cgroup/memory/kube/memory.limit_in_bytes":     "2147483648\n",
			"sys/fs/cgroup/memory/kube/pod/memory.limit_in_bytes": unlimitedV1,
		}, 2 * gib},
		"v1 container": {map[string]string{
			"proc/self/cgroup":                           "4:memory:/docker/1f\n",
			"proc/self/mountinfo":                        "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
		}, gib / 2},
		"hybrid, memory in v1": {map[string]string{
			"proc/self/cgroup":                               "4:memory:/app\n0::/init.scope\n",
			"proc/self/mountinfo":                            mountHybrid + mountV1,
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/unified/init.scope/cgroup.procs":  "1\n",
		}, gib},
		"hybrid, memory in v2": {map[string]string{
			"proc/self/cgroup":                        "5:cpu,cpuacct:/\n0::/app\n",
			"proc/self/mountinfo":                     mountV1CPU + mountHybrid,
			"sys/fs/cgroup/unified/app/memory.max":    "1073741824\n",
			"sys/fs/cgroup/cpu/memory.limit_in_bytes": "5\n",
		}, gib},
		"cgroup filesystem not mounted": {map[string]string{
			"proc/self/cgroup":    "0::/app\n",
			"proc/self/mountinfo": mountRoot,
		}, 16 * gib},
		"a path with colons": {map[string]string{
			"proc/self/cgroup":               "0::/a:b:c\n",
			"proc/self/mountinfo":            mountV2,
			"sys/fs/cgroup/a:b:c/memory.max": "1073741824\n",
		}, gib},
		"broken lines of mountinfo": {map[string]string{
			"proc/self/cgroup":             "0::/app\n",
			"proc/self/mountinfo":          "\n - \n1 2 3\n1 2 3 4 5 6 - cgroup2\n" + mountV2,
			"sys/fs/cgroup/app/memory.max": "1073741824\n",
		}, gib},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := resources.MemoryIn(tree(tt.files))
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestHost_MemoryNamesTheUnreadableFile(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  string
	}{
		"no meminfo":         {map[string]string{"proc/meminfo": "-"}, "proc/meminfo"},
		"meminfo without it": {map[string]string{"proc/meminfo": "MemFree: 5 kB\n"}, "MemTotal"},
		"meminfo in words":   {map[string]string{"proc/meminfo": "MemTotal: much kB\n"}, "much"},
		"meminfo unit":       {map[string]string{"proc/meminfo": "MemTotal: 5 MB\n"}, "5 MB"},
		"meminfo negative":   {map[string]string{"proc/meminfo": "MemTotal: -5 kB\n"}, "-5"},
		"meminfo too large":  {map[string]string{"proc/meminfo": "MemTotal: 9007199254740993 kB\n"}, "9007199254740993"},
		"cgroup garbage":     {map[string]string{"proc/self/cgroup": "what\n"}, `"what"`},
		"cgroup path":        {map[string]string{"proc/self/cgroup": "0::app\n"}, `"0::app"`},
		"no mountinfo":       {map[string]string{"proc/self/cgroup": "0::/\n"}, "mountinfo"},
		"limit garbage": {map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"proc/self/mountinfo":      mountV2,
			"sys/fs/cgroup/memory.max": "-1\n",
		}, `/sys/fs/cgroup/memory.max: "-1"`},
		"limit empty": {map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"proc/self/mountinfo":      mountV2,
			"sys/fs/cgroup/memory.max": "",
		}, "memory.max"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := resources.MemoryIn(tree(tt.files))
			require.ErrorContains(t, err, tt.want)
			require.Zero(t, got)
		})
	}
}

// deny refuses to open some files, as a locked-down machine does.
type deny struct {
	fs.FS
	name string
}

func (d deny) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, d.name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.FS.Open(name)
}

func TestHost_MemoryDoesNotGuessAForbiddenFile(t *testing.T) {
	root := tree(map[string]string{
		"proc/self/cgroup":         "0::/\n",
		"proc/self/mountinfo":      mountV2,
		"sys/fs/cgroup/memory.max": "max\n",
	})
	for _, name := range []string{"meminfo", "self/cgroup", "mountinfo", "memory.max"} {
		_, err := resources.MemoryIn(deny{root, name})
		require.ErrorIs(t, err, fs.ErrPermission)
		require.ErrorContains(t, err, name)
	}
}

func FuzzHost_Memory(f *testing.F) {
	f.Add("0::/a\n", mountV2, "max\n")
	f.Add("4:memory:/../a\n", mountV1, unlimitedV1)
	f.Add("0::/..\n", `1 2 3 /.. /\04 r - cgroup2 c rw`, "5")
	f.Fuzz(func(t *testing.T, cgroup, mountinfo, limit string) {
		memory, err := resources.MemoryIn(tree(map[string]string{
			"proc/self/cgroup":           cgroup,
			"proc/self/mountinfo":        mountinfo,
			"sys/fs/cgroup/memory.max":   limit,
			"sys/fs/cgroup/a/memory.max": limit,
		}))
		if err != nil {
			require.Zero(t, memory)
			return
		}
		require.LessOrEqual(t, memory, int64(16*gib))
		require.GreaterOrEqual(t, memory, int64(0))
	})
}
