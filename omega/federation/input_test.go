package federation_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/federation"
	"github.com/cellsched/cellsched/resources"
)

func TestNew_NamesTheInvalidValue(t *testing.T) {
	for what, tt := range map[string]struct {
		cfg  federation.Config
		want string
	}{
		"no name":          {federation.Config{Locals: []string{"a"}}, "federation: name of a global master: "},
		"no local master":  {federation.Config{Name: "g"}, "federation: no local master, want one at least"},
		"invalid local":    {federation.Config{Name: "g", Locals: []string{"a\n"}}, `federation: name of a local master: `},
		"two of a name":    {federation.Config{Name: "g", Locals: []string{"a", "b", "a"}}, `local master "a": another master has that name`},
		"the global's own": {federation.Config{Name: "g", Locals: []string{"a", "g"}}, `local master "g": another master has that name`},
		"timeout":          {federation.Config{Name: "g", Locals: []string{"a"}, Timeout: -1}, "timeout -1ns, want 0 or more"},
		"epoch":            {federation.Config{Name: "g", Locals: []string{"a"}, Epoch: 1 << 30}, "epoch 1073741824, want at most"},
	} {
		_, err := federation.New(tt.cfg)
		require.ErrorIs(t, err, federation.ErrInvalid, what)
		require.ErrorContains(t, err, tt.want, what)
	}
}

func TestSubmit_NamesTheInvalidValue(t *testing.T) {
	good := federation.Job{Name: "j", User: "u", Tasks: 3, Need: resources.Vector{1}}
	g, err := federation.New(federation.Config{Name: "g", Locals: []string{"a"}, Weights: map[string]float64{"heavy": -1}})
	require.NoError(t, err)
	for what, tt := range map[string]struct {
		change func(*federation.Job)
		want   string
	}{
		"no name":      {func(j *federation.Job) { j.Name = "" }, "name of a job"},
		"no user":      {func(j *federation.Job) { j.User = "" }, `job "j": user`},
		"no task":      {func(j *federation.Job) { j.Tasks = 0 }, `job "j": 0 tasks, want 1 to`},
		"many tasks":   {func(j *federation.Job) { j.Tasks = 1<<24 + 1 }, "16777217 tasks"},
		"no need":      {func(j *federation.Job) { j.Need = resources.Vector{} }, `job "j": need`},
		"negative":     {func(j *federation.Job) { j.Need = resources.Vector{1, -2} }, `job "j": need`},
		"ended twice":  {func(j *federation.Job) { j.Ended = []int{1, 1} }, `job "j": ended task 1`},
		"ended beyond": {func(j *federation.Job) { j.Ended = []int{3} }, `job "j": ended task 3, want different numbers from 0 to 2`},
		"weight":       {func(j *federation.Job) { j.User = "heavy" }, `job "j": user "heavy"`},
		"predicate":    {func(j *federation.Job) { j.Require = make([]locality.Predicate, 1) }, `job "j": requirement 0`},
	} {
		j := good
		tt.change(&j)
		err := g.Submit(j)
		require.ErrorIs(t, err, federation.ErrInvalid, what)
		require.ErrorContains(t, err, tt.want, what)
		require.Equal(t, 1, strings.Count(err.Error(), "federation:"), err.Error())
	}
	require.Zero(t, g.Stats())
	require.NoError(t, g.Submit(good))
	require.ErrorContains(t, g.Submit(good), `job "j": another one of that name has not ended`)
	require.Equal(t, federation.Stats{Waiting: 3}, g.Stats())
}

func TestNewVerifier_NamesTheInvalidValue(t *testing.T) {
	cell, err := omega.NewCell(omega.Config{Machines: []omega.Machine{
		{Name: "m0", Capacity: resources.Vector{1}}, {Name: "m1", Capacity: resources.Vector{1}}, {Name: "m2", Capacity: resources.Vector{1}},
	}})
	require.NoError(t, err)
	s, err := cell.Register("g", omega.Limits{})
	require.NoError(t, err)
	task := federation.Task{Job: "j"}
	for what, tt := range map[string]struct {
		local federation.Local
		want  string
	}{
		"no name":      {federation.Local{Scheduler: s}, "name of a local master"},
		"name":         {federation.Local{Name: "g", Scheduler: s}, `local master "g": its scheduler has that name`},
		"heartbeat":    {federation.Local{Name: "a", Scheduler: s, Heartbeat: -time.Second}, "heartbeat -1s"},
		"piece":        {federation.Local{Name: "a", Scheduler: s, Piece: 63}, "pieces of 63"},
		"no partition": {federation.Local{Name: "a", Scheduler: s, Partitions: federation.Split(3, "h")}, `want one of "g"`},
		"overlap": {
			federation.Local{Name: "a", Scheduler: s, Partitions: map[string]omega.Mask{"g": {0b011}, "h": {0b110}}},
			`machine "m1" is in the partitions of "g" and "h": want one`,
		},
		"left out": {
			federation.Local{Name: "a", Scheduler: s, Partitions: map[string]omega.Mask{"g": {0b001}, "h": {0b100}}},
			`machine "m1" is in no partition: want one`,
		},
		"two records": {
			federation.Local{Name: "a", Scheduler: s, Records: federation.Records{Tasks: []federation.Event{{Task: task, Kind: federation.Ended}, {Task: task, Kind: federation.Ended}}}},
			`two records of task "j"[0]`,
		},
		"record": {
			federation.Local{Name: "a", Scheduler: s, Records: federation.Records{Tasks: []federation.Event{{Task: task, Kind: federation.Returned}}}},
			`record of task "j"[0] that is returned, want started or ended`,
		},
	} {
		_, err := federation.NewVerifier(tt.local)
		require.ErrorIs(t, err, federation.ErrInvalid, what)
		require.ErrorContains(t, err, tt.want, what)
		require.Equal(t, 1, strings.Count(err.Error(), "federation:"), err.Error())
	}
	_, err = federation.NewVerifier(federation.Local{Name: "a"})
	require.ErrorIs(t, err, resources.ErrNil)
}

func TestReceive_NamesTheSenderThatItDoesNotKnow(t *testing.T) {
	w := newWorld(t, 1, network{}, 2, slots(2, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f, b := w.globals[0], w.sites["local-0/global-0"]
	tell := func(from, to string) federation.Message {
		return read(t, `{"From":"`+from+`","To":"`+to+`","Tell":{"Epoch":1,"Incarnation":1}}`)
	}
	ask := func(from, to string) federation.Message {
		return read(t, `{"From":"`+from+`","To":"`+to+`","Ask":{"Epoch":1,"Incarnation":1}}`)
	}
	require.NoError(t, f.Receive(tell("local-0", "global-0")))
	err := f.Receive(tell("local-9", "global-0"))
	require.ErrorIs(t, err, federation.ErrUnknown)
	require.EqualError(t, err, `federation: message from "local-9", want one of the local masters local-0: unknown name`)
	require.ErrorIs(t, f.Receive(tell("local-0", "global-1")), federation.ErrUnknown)
	require.ErrorIs(t, f.Receive(ask("local-0", "global-0")), federation.ErrInvalid)

	require.NoError(t, b.Receive(ask("global-0", "local-0")))
	require.ErrorIs(t, b.Receive(ask("global-1", "local-0")), federation.ErrUnknown)
	require.ErrorIs(t, b.Receive(ask("global-0", "local-1")), federation.ErrUnknown)
	require.ErrorIs(t, b.Receive(tell("global-0", "local-0")), federation.ErrInvalid)
	require.ErrorIs(t, b.Done(federation.Event{Task: federation.Task{Job: "none", Index: 7}}, true), federation.ErrUnknown)
	require.ErrorContains(t, b.Done(federation.Event{Task: federation.Task{Job: "none", Index: 7}}, true), `task "none"[7]: its run with allocation 0/0/0 is not in progress on local master "local-0"`)
}

// A wrong answer is an error that names it, and the rest of the message is followed.
func TestReceive_RefusesAnswersToWhatWasNotSent(t *testing.T) {
	w := newWorld(t, 1, network{}, 1, slots(2, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f := w.globals[0]
	require.NoError(t, f.Submit(federation.Job{Name: "j", User: "u", Tasks: 2, Need: resources.Vector{1}}))
	out, _ := f.Step(w.now)
	require.Len(t, out, 1)
	before := f.Stats()

	err := f.Receive(read(t, `{"From":"local-0","To":"global-0","Tell":{"Epoch":1,"Incarnation":1,"Answers":[{"Number":4294967299,"Granted":[""]}]}}`))
	require.ErrorIs(t, err, federation.ErrInvalid)
	require.ErrorContains(t, err, "answer 4294967299")
	err = f.Receive(read(t, `{"From":"local-0","To":"global-0","Tell":{"Epoch":1,"Incarnation":1,"Answers":[{"Number":4294967297,"Granted":[""]}]}}`))
	require.ErrorIs(t, err, federation.ErrInvalid)
	require.ErrorContains(t, err, "to 1 launches: want 2")
	// Of an unknown task nothing is known.
	require.NoError(t, f.Receive(read(t, `{"From":"local-0","To":"global-0","Tell":{"Epoch":1,"Incarnation":1,"Notices":[{"Number":1,"Event":{"Task":{"Job":"x","Index":3},"Kind":3}}]}}`)))
	require.Equal(t, before, f.Stats())
	w.send(out)
	w.until(w.now.Add(time.Second))
	require.Len(t, w.runs, 2)
}

// A global master that hears of its successor stops.
func TestGlobal_StopsWhenItIsSuperseded(t *testing.T) {
	w := newWorld(t, 1, network{}, 1, slots(2, 1))
	w.begin()
	w.until(start.Add(time.Second))
	f := w.globals[0]
	old := f.Global
	w.submit(f, federation.Job{Name: "j", User: "u", Tasks: 1, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	w.failGlobal(f)
	w.until(w.now.Add(time.Second))
	err := old.Receive(read(t, `{"From":"local-0","To":"global-0","Tell":{"Epoch":2,"Incarnation":1}}`))
	require.ErrorIs(t, err, federation.ErrSuperseded)
	out, _ := old.Step(w.now)
	require.Empty(t, out)
	require.ErrorIs(t, old.Submit(federation.Job{Name: "k", User: "u", Tasks: 1, Need: resources.Vector{1}}), federation.ErrSuperseded)
	require.ErrorIs(t, old.Run(context.Background(), func(federation.Message) {}), federation.ErrSuperseded)
	require.Equal(t, federation.Stats{Running: 1}, f.Stats())
}

// A verifier that was replaced stops, and changes nothing.
func TestVerifier_StopsWhenItIsSuperseded(t *testing.T) {
	w := newWorld(t, 1, network{}, 1, slots(2, 1))
	w.begin()
	w.until(start.Add(time.Second))
	old := w.sites["local-0/global-0"]
	w.submit(w.globals[0], federation.Job{Name: "j", User: "u", Tasks: 1, Need: resources.Vector{1}})
	w.until(w.now.Add(time.Second))
	w.failVerifier(old)
	require.NoError(t, old.Done(w.told[federation.Task{Job: "j"}], true))
	_, _, err := old.Step(context.Background(), w.now)
	require.ErrorIs(t, err, federation.ErrSuperseded)
	w.until(w.now.Add(time.Minute))
	w.check()
}

func read(t *testing.T, text string) (m federation.Message) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return m
}

func TestMessage_IsRefusedWhereItMakesNoSense(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "want either a request or a report",
		`{"From":"a","Ask":{"Epoch":1},"Tell":{"Incarnation":1}}`: `message from "a": want either`,
		`{"Ask":{"Epoch":0}}`:                                                                       "epoch 0, want 1 or more",
		`{"Ask":{"Epoch":1,"Launches":[{}]}}`:                                                       "1 launches in a batch without a number",
		`{"Ask":{"Epoch":1,"Number":1,"Launches":[{"Task":{"Index":-1}}]}}`:                         "task \"\"[-1]",
		`{"Ask":{"Epoch":1,"Number":7,"Settled":7}}`:                                                "batch 7, and batches up to 7 are settled",
		`{"Ask":{"Epoch":1,"Number":1,"Launches":[{"Task":{"Job":"j"}},{"Task":{"Job":"j"}}]}}`:     `two launches of task "j"[0]`,
		`{"Tell":{"Incarnation":1,"List":[{"Task":{"Job":"j"},"Kind":4}]}}`:                         `list with task "j"[0] that is returned, want started or ended`,
		`{"Tell":{"Incarnation":1,"List":[{"Task":{"Job":"j"}}]}}`:                                  `list with task "j"[0] that is Kind(0), want`,
		`{"Tell":{"Incarnation":1,"Notices":[{"Number":1,"Event":{"Task":{"Job":"j"},"Kind":1}}]}}`: `notice of task "j"[0] that is started, want ended or returned`,
		`{"Tell":{"Incarnation":1,"Notices":[{"Number":1,"Event":{"Task":{"Job":"j"},"Kind":9}}]}}`: `notice of task "j"[0] that is Kind(9), want`,
		`{"Tell":{"Incarnation":0}}`:                                                                "incarnation 0",
		`{"Tell":{"Incarnation":1,"Machines":[{"Free":[-1,0,0,0,0,0,0,0]}]}}`:                       "report from",
		`{"Tell":{"Incarnation":1,"Answers":[{"Granted":["",""],"Why":[2]}]}}`:                      "1 reasons for 2 launches",
		`{"Tell":{"Incarnation":1,"Blocks":[null]}}`:                                                "want blocks of up to 64 machines",
		`{"Tell":{"Incarnation":1,"Blocks":[{"First":1}]}}`:                                         "want blocks of up to 64 machines",
		`{"Tell":{"Incarnation":1,"Blocks":[{"First":64,"Machines":[{"ID":"000001/2"}]}]}}`:         "machine 2 in the place of number 64",
		`{"Tell":{"Incarnation":1,"Blocks":[{"First":2147483647,"Machines":[{"ID":""}]}]}}`:         "want blocks",
		`{"Tell":{"Incarnation":1,"List":[{"Allocation":"x"}]}}`:                                    `invalid ID: allocation "x"`,
		`[`: "unexpected end of JSON input",
	} {
		var m federation.Message
		err := json.Unmarshal([]byte(text), &m)
		require.Error(t, err, text)
		require.Zero(t, m)
		if json.Valid([]byte(text)) {
			require.ErrorIs(t, err, federation.ErrInvalid, text)
			require.ErrorContains(t, err, want, text)
		}
	}
}

// Each message of a federation is the same after it was written and read.
func TestMessage_SurvivesJSON(t *testing.T) {
	w := newWorld(t, 1, network{delay: time.Millisecond, loss: 0.1, double: 0.1, jitter: time.Second}, 2, slots(3, 2), slots(70, 1))
	w.length = func() time.Duration { return 3 * time.Second }
	w.through = func(m federation.Message) federation.Message {
		text, err := json.Marshal(m)
		require.NoError(t, err)
		again := read(t, string(text))
		second, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(text), string(second))
		return again
	}
	w.begin()
	w.submit(w.globals[0], federation.Job{Name: "a", User: "u", Tasks: 40, Need: resources.Vector{1}})
	w.submit(w.globals[1], federation.Job{Name: "b", User: "v", Tasks: 50, Need: resources.Vector{1}, Gang: true})
	w.until(start.Add(10 * time.Second))
	w.failGlobal(w.globals[0])
	w.failVerifier(w.sites["local-0/global-1"])
	w.until(start.Add(5 * time.Minute))
	w.check()
	w.allEnded()
}

// No message that can be read makes a master panic, and no cell loses what it holds.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"From":"local-0","To":"global-0","Tell":{"Epoch":1,"Incarnation":1,"Blocks":[{"First":0,"Stamp":9,"Machines":[{"ID":"000001/0","Seq":99}]}]}}`))
	f.Add([]byte(`{"From":"local-0","To":"global-0","Tell":{"Epoch":1,"Incarnation":2,"Listed":true,"List":[{"Task":{"Job":"j","Index":0},"Kind":3}]}}`))
	f.Add([]byte(`{"From":"local-0","To":"global-0","Tell":{"Epoch":1,"Incarnation":1,"Answers":[{"Number":4294967297,"Granted":["",""],"Why":[2,3]}]}}`))
	f.Add([]byte(`{"From":"global-0","To":"local-0","Ask":{"Epoch":1,"Incarnation":1,"Number":77,"Launches":[{"Task":{"Job":"z","Index":0},"User":"u","Machine":"000001/0","Need":[1,0,0,0,0,0,0,0]}]}}`))
	f.Add([]byte(`{"From":"global-0","To":"local-0","Ask":{"Epoch":9,"Incarnation":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m federation.Message
		if json.Unmarshal(text, &m) != nil {
			return
		}
		w := newWorld(t, 1, network{}, 1, slots(2, 2))
		w.lies = true
		w.begin()
		w.submit(w.globals[0], federation.Job{Name: "j", User: "u", Tasks: 3, Need: resources.Vector{1}})
		w.until(start.Add(time.Second))
		g, b := w.globals[0], w.sites["local-0/global-0"]
		_ = g.Receive(m)
		_ = b.Receive(m)
		_, _, _ = b.Step(context.Background(), w.now)
		_, _ = g.Step(w.now)
		require.NoError(t, w.cells[0].Check())
	})
}

func TestNil_FailsAndReturnsNothing(t *testing.T) {
	niltest.Methods(t, (*federation.Global)(nil), resources.ErrNil, map[string]any{})
	niltest.Methods(t, (*federation.Verifier)(nil), resources.ErrNil, map[string]any{})
}
