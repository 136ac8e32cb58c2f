package journaltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/cellsched/cellsched/omega/journal"
)

// reopened closes a store and opens it again, between all that changes it. What was appended and
// replaced is there, in order and without a gap.
func reopened(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	again := func() {
		t.Helper()
		if closer, ok := store.(io.Closer); ok {
			if err := closer.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
		}
		store = open()
	}
	const last = 12
	for i := 1; i <= last; i++ {
		if i%3 == 0 {
			again()
		}
		appendAll(t, store, i, i+1)
		if i%4 == 0 {
			again()
			if err := store.Replace(t.Context(), journal.Position(i-1), save("checkpoint")); err != nil {
				t.Fatalf("replace at %d: %v", i-1, err)
			}
		}
	}
	again()
	if at, text := checkpoint(t, store); at != last-1 || text != "checkpoint" {
		t.Fatalf("checkpoint of a store that was opened again at %d is %q", at, text)
	}
	if data := read(t, store, last-1, 1); !bytes.Equal(data[0], entry(last)) {
		t.Fatalf("the last entry of a store that was opened again is %q", data[0])
	}
}

// survives closes a store during appends and opens it again: each entry that was acknowledged
// is there, in the order of its writer. No other entry is.
func survives(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	closer, ok := store.(io.Closer)
	if !ok {
		t.Skip("the store is no io.Closer")
	}
	told, ended := make(chan int), make(chan error)
	go func() {
		for i := 1; ; i++ {
			if err := store.Append(context.Background(), entry(i)); err != nil {
				close(told)
				ended <- err
				return
			}
			told <- i
		}
	}()
	acknowledged := 0
	for acknowledged < 20 {
		acknowledged = <-told
	}
	closed := make(chan error, 1)
	go func() { closed <- closer.Close() }()
	for i := range told {
		acknowledged = i
	}
	if err := <-ended; !errors.Is(err, journal.ErrFailed) {
		t.Fatalf("append to a store that is closed: %v, want %v", err, journal.ErrFailed)
	}
	if err := <-closed; err != nil {
		t.Fatalf("close: %v", err)
	}
	store = open()
	n := 0
	for e, err := range store.Read(t.Context(), 0) {
		if err != nil {
			t.Fatalf("read of a store that was opened again: %v", err)
		}
		if e.Data == nil {
			break
		}
		if n++; !bytes.Equal(e.Data, entry(n)) {
			t.Fatalf("entry %d of a store that was opened again is %q", n, e.Data)
		}
	}
	if n != acknowledged && n != acknowledged+1 { // one append may have been in progress
		t.Fatalf("a store that was opened again has %d entries, %d were acknowledged", n, acknowledged)
	}
}
