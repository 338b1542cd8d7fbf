package engine

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAvailable checks the free memory of made-up systems, each with 1,000 KiB.
func TestAvailable(t *testing.T) {
	const free = 1000 << 10
	tests := []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no groups", nil, free},
		{"no limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, free},
		{"container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "5000\n",
			"sys/fs/cgroup/memory.current": "3000\n", "sys/fs/cgroup/memory.stat": "anon 2000\nfile 1000\n"}, 3000},
		{"limit of a parent", map[string]string{"proc/self/cgroup": "0::/user/run.scope\n", "sys/fs/cgroup/user/run.scope/memory.max": "9000\n",
			"sys/fs/cgroup/user/memory.max": "5000\n", "sys/fs/cgroup/memory.max": "7000\n"}, 5000},
		{"group outside the container", map[string]string{"proc/self/cgroup": "0::/elsewhere\n", "sys/fs/cgroup/memory.max": "7000\n"}, 7000},
		{"first version", map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "5000\n",
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": "1000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 4000},
		{"limit above what is free", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9000000000\n"}, free},
		{"all used", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "5000\n", "sys/fs/cgroup/memory.current": "6000\n"}, 1},
	}
	for _, tt := range tests {
		root := t.TempDir()
		write(t, filepath.Join(root, "proc/meminfo"), "MemTotal: 2000 kB\nMemAvailable:    1000 kB\n")
		for name, text := range tt.files {
			write(t, filepath.Join(root, name), text)
		}
		if got := availableIn(root); got != tt.want {
			t.Errorf("%s: %d; want %d", tt.name, got, tt.want)
		}
	}
	if Available() <= 0 {
		t.Error("this machine's memory is not known")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
