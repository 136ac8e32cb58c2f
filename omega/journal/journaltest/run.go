package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/cellsched/cellsched/omega/journal"
)

// Run holds a store to the contract of [journal.Store]. empty makes an empty store and
// returns a function that opens it. That is called again while the store is open: a store for
// one process may return the same handle. A store that is an [io.Closer] is closed, too, and
// opened again: it must have what it had.
func Run(t *testing.T, empty func(t *testing.T) (open func() journal.Store)) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, open func() journal.Store){
		"entries are read in the order of appends":   ordered,
		"a walk waits for entries":                   waits,
		"a walk ends with its context":               ends,
		"appends of many goroutines have no gap":     concurrent,
		"an append whose context ended is whole":     cancelled,
		"a checkpoint is the last that was replaced": checkpoints,
		"trimmed entries are reported":               trimmed,
		"entries of many sizes come back":            sizes,
		"an entry that is refused leaves no gap":     refused,
		"a slow reader misses nothing":               slow,
		"entries are kept beside a checkpoint":       beside,
		"a closed store takes nothing more":          closed,
		"a store that is opened again has it all":    reopened,
		"acknowledged entries survive a close":       survives,
	} {
		t.Run(name, func(t *testing.T) { test(t, empty(t)) })
	}
}

func entry(i int) []byte { return fmt.Appendf(nil, "entry-%d", i) }

// read returns n entries behind a position.
func read(t *testing.T, store journal.Store, after journal.Position, n int) (all [][]byte) {
	t.Helper()
	at := after
	for e, err := range store.Read(t.Context(), after) {
		if err != nil {
			t.Fatalf("read behind %d: %v", at, err)
		}
		if e.Data == nil {
			if e.At != at {
				t.Fatalf("the end is at %d, want %d", e.At, at)
			}
			continue
		}
		if at++; e.At != at {
			t.Fatalf("read entry %d, want %d", e.At, at)
		}
		if all = append(all, bytes.Clone(e.Data)); len(all) == n {
			break
		}
	}
	return all
}

func appendAll(t *testing.T, store journal.Store, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := store.Append(t.Context(), entry(i)); err != nil {
			t.Fatalf("append %d: %v", i, err)
		}
	}
}

func ordered(t *testing.T, open func() journal.Store) {
	t.Helper()
	appendAll(t, open(), 1, 101)
	store := open()
	for _, after := range []journal.Position{0, 1, 50, 99} {
		for i, data := range read(t, store, after, 100-int(after)) {
			if want := entry(int(after) + i + 1); !bytes.Equal(data, want) {
				t.Fatalf("entry %d is %q, want %q", int(after)+i+1, data, want)
			}
		}
	}
}

func waits(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	ended := make(chan error)
	go func() { // not read, which ends the test's goroutine
		at := journal.Position(0)
		for e, err := range store.Read(t.Context(), 0) {
			if err != nil {
				ended <- fmt.Errorf("read behind %d: %w", at, err)
				return
			}
			if e.Data != nil {
				at++
			}
			if e.At != at || e.Data != nil && !bytes.Equal(e.Data, entry(int(at))) {
				ended <- fmt.Errorf("entry %d is %q, want %q at %d", e.At, e.Data, entry(int(at)), at)
				return
			}
			if at == 3 {
				break
			}
		}
		ended <- nil
	}()
	appendAll(t, open(), 1, 4)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// slow reads while others append, trim what it has read, and read faster.
func slow(t *testing.T, open func() journal.Store) {
	t.Helper()
	const entries = 200
	store, writer := open(), open()
	appendAll(t, writer, 1, 11)
	at, ends := journal.Position(0), 0
	for e, err := range store.Read(t.Context(), 0) {
		if err != nil {
			t.Fatalf("read behind %d: %v", at, err)
		}
		if e.Data == nil {
			ends++
			continue
		}
		if at++; e.At != at || !bytes.Equal(e.Data, entry(int(at))) {
			t.Fatalf("entry %d is %q, want %q at %d", e.At, e.Data, entry(int(at)), at)
		}
		switch at {
		case entries:
			if ends > entries {
				t.Fatalf("%d ends in %d entries", ends, entries)
			}
			return
		case 5:
			appendAll(t, writer, 11, entries+1)
		case 20:
			if got := read(t, open(), 20, entries-20); len(got) != entries-20 {
				t.Fatalf("read %d entries, want %d", len(got), entries-20)
			}
			if err := writer.Replace(t.Context(), 15, save("fifteen")); err != nil {
				t.Fatalf("replace: %v", err)
			}
		}
	}
}

// beside appends and reads while a checkpoint is written.
func beside(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	appendAll(t, store, 1, 11)
	writing, written := make(chan struct{}), make(chan struct{})
	replaced := make(chan error, 1)
	go func() {
		replaced <- store.Replace(t.Context(), 10, func(w io.Writer) error {
			close(writing)
			<-written
			return save("ten")(w)
		})
	}()
	<-writing
	appendAll(t, store, 11, 21)
	for i, data := range read(t, store, 5, 15) {
		if !bytes.Equal(data, entry(i+6)) {
			t.Errorf("entry %d is %q beside a checkpoint", i+6, data)
		}
	}
	close(written)
	if err := <-replaced; err != nil {
		t.Fatalf("replace: %v", err)
	}
	for i, data := range read(t, open(), 10, 10) {
		if !bytes.Equal(data, entry(i+11)) {
			t.Fatalf("entry %d is %q behind a checkpoint", i+11, data)
		}
	}
	if at, text := checkpoint(t, open()); at != 10 || text != "ten" {
		t.Fatalf("checkpoint at %d is %q", at, text)
	}
}

// closed closes a store while a walk waits for entries.
func closed(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	closer, ok := store.(io.Closer)
	if !ok {
		t.Skip("the store is no io.Closer")
	}
	appendAll(t, store, 1, 4)
	waits, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		var last error
		for e, err := range store.Read(t.Context(), 0) {
			if last = err; err == nil && e.Data == nil {
				close(waits)
			}
		}
		ended <- last
	}()
	<-waits
	if err := closer.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	if err := <-ended; !errors.Is(err, journal.ErrFailed) {
		t.Fatalf("the walk ends with %v, want %v", err, journal.ErrFailed)
	}
	for range 2 {
		if err := store.Append(t.Context(), entry(9)); !errors.Is(err, journal.ErrFailed) {
			t.Fatalf("append after close: %v, want %v", err, journal.ErrFailed)
		}
	}
	if err := store.Replace(t.Context(), 2, save("two")); !errors.Is(err, journal.ErrFailed) {
		t.Fatalf("replace after close: %v, want %v", err, journal.ErrFailed)
	}
	if _, r, err := store.Checkpoint(t.Context()); r != nil || !errors.Is(err, journal.ErrFailed) {
		t.Fatalf("checkpoint after close: %v, want %v", err, journal.ErrFailed)
	}
}

func ends(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	appendAll(t, store, 1, 2)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	gone := errors.New("gone")
	var last error
	for _, err := range store.Read(ctx, 0) {
		last = err
		cancel(gone)
	}
	if !errors.Is(last, gone) {
		t.Fatalf("walk ended with %v, want %v", last, gone)
	}
}

func concurrent(t *testing.T, open func() journal.Store) {
	t.Helper()
	const writers, each = 4, 25
	var writing sync.WaitGroup
	for w := range writers {
		store := open()
		writing.Go(func() {
			for i := range each {
				if err := store.Append(t.Context(), entry(w*each+i)); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	writing.Wait()
	next := [writers]int{}
	for _, data := range read(t, open(), 0, writers*each) {
		var i int
		if _, err := fmt.Sscanf(string(data), "entry-%d", &i); err != nil {
			t.Fatalf("entry %q: %v", data, err)
		}
		if next[i/each] != i%each {
			t.Fatalf("entry %d of writer %d, want %d", i%each, i/each, next[i/each])
		}
		next[i/each]++
	}
}

func cancelled(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := store.Append(ctx, entry(1)) // kept or not
	appendAll(t, store, 2, 3)
	first := read(t, open(), 0, 1)[0]
	if !bytes.Equal(first, entry(1)) && (err == nil || !bytes.Equal(first, entry(2))) {
		t.Fatalf("after an append with error %v the first entry is %q", err, first)
	}
}

func save(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func checkpoint(t *testing.T, store journal.Store) (journal.Position, string) {
	t.Helper()
	at, r, err := store.Checkpoint(t.Context())
	if err != nil {
		t.Fatalf("checkpoint: %v", err)
	}
	if r == nil {
		return at, ""
	}
	text, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatalf("checkpoint at %d: %v", at, err)
	}
	return at, string(text)
}

func checkpoints(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	appendAll(t, store, 1, 11)
	broken := errors.New("broken")
	for _, step := range []struct {
		at   journal.Position
		save func(io.Writer) error
		err  error
		want journal.Position
		text string
	}{
		{3, func(io.Writer) error { return broken }, broken, 0, ""},
		{4, save("four"), nil, 4, "four"},
		{7, func(w io.Writer) error { return errors.Join(save("half")(w), broken) }, broken, 4, "four"},
		{7, save("seven"), nil, 7, "seven"},
		{5, save("five"), nil, 7, "seven"},
	} {
		if err := store.Replace(t.Context(), step.at, step.save); !errors.Is(err, step.err) {
			t.Fatalf("replace at %d: %v, want %v", step.at, err, step.err)
		}
		if at, text := checkpoint(t, open()); at != step.want || text != step.text {
			t.Fatalf("checkpoint at %d is %q, want %q at %d", at, text, step.text, step.want)
		}
	}
	if got := read(t, open(), 7, 3); !bytes.Equal(got[0], entry(8)) {
		t.Fatalf("entry 8 is %q", got[0])
	}
}

func trimmed(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	appendAll(t, store, 1, 11)
	if err := store.Replace(t.Context(), 10, save("ten")); err != nil {
		t.Fatalf("replace: %v", err)
	}
	appendAll(t, store, 11, 12)
	for e, err := range store.Read(t.Context(), 0) {
		if err == nil && e.At == 1 {
			return // it was not dropped yet
		}
		if !errors.Is(err, journal.ErrTrimmed) {
			t.Fatalf("read of a trimmed entry: %d, %v, want %v", e.At, err, journal.ErrTrimmed)
		}
		return
	}
}

func sizes(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	var all [][]byte
	for n := 1; n <= 1<<20; n = 3*n + 1 {
		data := bytes.Repeat([]byte{byte(n)}, n)
		all = append(all, data)
		if err := store.Append(t.Context(), data); err != nil {
			t.Fatalf("append of %d bytes: %v", n, err)
		}
	}
	for i, data := range read(t, open(), 0, len(all)) {
		if !bytes.Equal(data, all[i]) {
			t.Fatalf("entry of %d bytes came back as %d others", len(all[i]), len(data))
		}
	}
}

// refused appends an entry of a size that no store takes.
func refused(t *testing.T, open func() journal.Store) {
	t.Helper()
	store := open()
	for i := range 3 {
		if err := store.Append(t.Context(), nil); !errors.Is(err, journal.ErrSize) || errors.Is(err, journal.ErrFailed) {
			t.Fatalf("append of nothing: %v, want %v", err, journal.ErrSize)
		}
		appendAll(t, store, i+1, i+2)
	}
	for i, data := range read(t, open(), 0, 3) {
		if !bytes.Equal(data, entry(i+1)) {
			t.Fatalf("entry %d is %q, want %q", i+1, data, entry(i+1))
		}
	}
}
