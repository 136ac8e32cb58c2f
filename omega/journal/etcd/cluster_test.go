package etcd_test

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// members are members of etcd in this process.
type members struct {
	endpoints []string
	configs   []*embed.Config
	running   []*embed.Etcd // nil where one was stopped
}

// cluster starts members for the length of the test, with settings beside those of a test.
func cluster(tb testing.TB, n int, settings ...func(*embed.Config)) *members {
	tb.Helper()
	var err error
	for range 5 { // another program may take an address that was free
		var m *members
		if m, err = tryCluster(tb, n, settings); err == nil {
			tb.Cleanup(m.close)
			return m
		}
	}
	require.NoError(tb, err)
	return nil
}

func tryCluster(tb testing.TB, n int, settings []func(*embed.Config)) (*members, error) {
	tb.Helper()
	m := &members{running: make([]*embed.Etcd, n)}
	var names []string
	for i := range n {
		cfg := embed.NewConfig()
		cfg.Name, cfg.Dir, cfg.UnsafeNoFsync = fmt.Sprint("m", i), filepath.Join(tb.TempDir(), "etcd"), true
		cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
		peer, client := address(tb), address(tb)
		cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
		cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
		for _, set := range settings {
			set(cfg)
		}
		names = append(names, cfg.Name+"="+peer.String())
		m.configs, m.endpoints = append(m.configs, cfg), append(m.endpoints, client.String())
	}
	for i, cfg := range m.configs {
		cfg.InitialCluster = strings.Join(names, ",")
		e, err := embed.StartEtcd(cfg)
		if err != nil {
			m.close()
			return nil, err
		}
		m.running[i] = e
	}
	for _, e := range m.running {
		select {
		case <-e.Server.ReadyNotify():
		case err := <-e.Err():
			m.close()
			return nil, err
		}
	}
	return m, nil
}

// leader returns the member that leads, -1 for none.
func (m *members) leader() int {
	for i, e := range m.running {
		if e != nil && e.Server.Leader() == e.Server.MemberID() {
			return i
		}
	}
	return -1
}

func (m *members) stop(i int) {
	if m.running[i] != nil {
		m.running[i].Close()
		m.running[i] = nil
	}
}

func (m *members) close() {
	for i := range m.running {
		m.stop(i)
	}
}

// address returns an address of this machine that is free.
func address(tb testing.TB) url.URL {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}
