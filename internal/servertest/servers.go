//go:build unix

package servertest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Postgres starts a server with an empty database for the length of the test, and
// returns the connection string. The server listens on a socket in a folder of the
// test, and syncs nothing to disk unless a setting says "fsync=on".
func Postgres(tb testing.TB, settings ...string) string {
	tb.Helper()
	initdb, err := filepath.EvalSymlinks(find(tb, "initdb", "/usr/lib/postgresql/*/bin/initdb"))
	if err != nil {
		tb.Fatal(err)
	}
	bin, as := filepath.Dir(initdb), owner(tb)
	dir := folder(tb, as)
	data := filepath.Join(dir, "data")
	run(tb, as, initdb, "--no-sync", "--auth=trust", "--username=test", "--pgdata="+data)
	args := []string{"-D", data, "-k", dir}
	for _, setting := range append([]string{"listen_addresses=", "fsync=off", "max_connections=200"}, settings...) {
		args = append(args, "-c", setting)
	}
	start(tb, as, syscall.SIGINT, filepath.Join(bin, "postgres"), args...)
	await(tb, func() error {
		_, err := command(tb.Context(), as, filepath.Join(bin, "pg_isready"), "-h", dir).Output()
		return err
	})
	return "host=" + dir + " user=test dbname=postgres"
}

// Pooler starts a PgBouncer in front of a server of [Postgres] for the length of the test, and
// returns the connection string. It gives each transaction one of three connections. The test is
// skipped if there is no PgBouncer, also with CI=true.
func Pooler(tb testing.TB, server string) string {
	tb.Helper()
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		if bin = "/usr/sbin/pgbouncer"; !isFile(bin) {
			tb.Skip("servertest: no pgbouncer in the search path and none at " + bin)
		}
	}
	as := owner(tb)
	dir := folder(tb, as)
	config := filepath.Join(dir, "config")
	lines := []string{
		"[databases]", "* = " + server, "[pgbouncer]", "listen_addr =", "listen_port = 6432", "unix_socket_dir = " + dir,
		"auth_type = any", "pool_mode = transaction", "default_pool_size = 3", "",
	}
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		tb.Fatal(err)
	}
	start(tb, as, syscall.SIGINT, bin, config)
	await(tb, func() error { return accepts(filepath.Join(dir, ".s.PGSQL.6432")) })
	return "host=" + dir + " port=6432 user=test dbname=postgres"
}

// accepts returns nil once a server accepts connections on a socket. The file is there before.
func accepts(socket string) error {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	return c.Close()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Redis starts a server without data for the length of the test, and returns the path
// of its socket.
func Redis(tb testing.TB) string {
	tb.Helper()
	bin := find(tb, "redis-server", "/usr/bin/redis-server")
	socket := filepath.Join(folder(tb, nil), "socket")
	start(tb, nil, syscall.SIGTERM, bin, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no")
	await(tb, func() error { return accepts(socket) })
	return socket
}

// find returns the path of a program, from the search path or the last match of a
// pattern. It skips the test if there is none.
func find(tb testing.TB, name, pattern string) string {
	tb.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if found, _ := filepath.Glob(pattern); len(found) > 0 {
		return found[len(found)-1]
	}
	message := fmt.Sprintf("servertest: no %s in the search path and none at %s", name, pattern)
	if os.Getenv("CI") == "true" {
		tb.Fatal(message)
	}
	tb.Skip(message)
	return ""
}

// owner returns the user to run PostgreSQL as, which refuses to run as root; nil for
// the user of the test.
func owner(tb testing.TB) *syscall.Credential {
	tb.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		tb.Fatalf("servertest: root cannot run PostgreSQL: %v", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// folder makes a folder with a short path, as sockets have at most 107 bytes.
func folder(tb testing.TB, as *syscall.Credential) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/tmp", "test") //nolint:usetesting // a short path, and another owner
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func command(ctx context.Context, as *syscall.Credential, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return c
}

func run(tb testing.TB, as *syscall.Credential, name string, args ...string) {
	tb.Helper()
	if out, err := command(tb.Context(), as, name, args...).CombinedOutput(); err != nil {
		tb.Fatalf("servertest: %s: %v\n%s", name, err, out)
	}
}

// start runs a server until the test ends, and then stops it by a signal.
func start(tb testing.TB, as *syscall.Credential, stop os.Signal, name string, args ...string) {
	tb.Helper()
	var log bytes.Buffer
	c := command(context.Background(), as, name, args...)
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		tb.Fatalf("servertest: %s: %v", name, err)
	}
	tb.Cleanup(func() {
		_ = c.Process.Signal(stop)
		_ = c.Wait()
		if tb.Failed() {
			tb.Logf("%s:\n%s", name, log.String())
		}
	})
}

// await asks until there is no error, for ten seconds.
func await(tb testing.TB, ready func() error) {
	tb.Helper()
	var err error
	for range 1000 {
		if err = ready(); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // another process tells of no event
	}
	tb.Fatalf("servertest: the server does not answer: %v", err)
}
