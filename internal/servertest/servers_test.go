//go:build unix

package servertest_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/servertest"
)

func TestRedis_Answers(t *testing.T) {
	c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", servertest.Redis(t))
	require.NoError(t, err)
	_, err = c.Write([]byte("PING\r\n"))
	require.NoError(t, err)
	answer := make([]byte, 16)
	n, err := c.Read(answer)
	require.NoError(t, err)
	require.Equal(t, "+PONG\r\n", string(answer[:n]))
	require.NoError(t, c.Close())
}

func TestPostgres_HasASocket(t *testing.T) {
	dsn := servertest.Postgres(t)
	dir := strings.TrimPrefix(strings.Fields(dsn)[0], "host=")
	c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", dir+"/.s.PGSQL.5432")
	require.NoError(t, err)
	require.NoError(t, c.Close())
}
