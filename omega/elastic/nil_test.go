package elastic_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/omega/elastic"
	"github.com/cellsched/cellsched/resources"
)

// Whatever is called on, or with, what there is not is an error, or nothing.
func TestNil_IsAnErrorOrNothing(t *testing.T) {
	cell := newCell(t, resources.Vector{4})
	s := register(t, cell, "s", omega.Limits{Lowest: -10, Highest: 10})
	var none *elastic.Team
	_, look := elastic.Look(nil, omega.Query{Need: resources.Vector{1}})
	for text, err := range map[string]error{
		"elastic: snapshot: argument is nil": look,
		"elastic: team: argument is nil":     resize(none, s, 1),
		"elastic: context: argument is nil":  newTeam(t, 1).Resize(nil, omega.Local{Scheduler: s}, time.Time{}, 1), //nolint:staticcheck // nil on purpose
		"elastic: store: argument is nil":    newTeam(t, 1).Resize(t.Context(), nil, time.Time{}, 1),
		"omega: scheduler: argument is nil":  resize(newTeam(t, 1), nil, 1),
	} {
		require.ErrorIs(t, err, resources.ErrNil)
		require.EqualError(t, err, text)
	}
	require.Error(t, resize(newTeam(t, 1), &omega.Scheduler{}, 1), "it commits nowhere")
	niltest.Methods(t, none, resources.ErrNil, nil)
	niltest.Methods(t, &elastic.Team{}, resources.ErrNil, nil)
	require.ErrorIs(t, resize(new(elastic.Team), s, 1), resources.ErrNil, "NewTeam has not made it")
	niltest.Methods(t, elastic.Policy{}, resources.ErrQuantity, nil)
	niltest.Methods(t, elastic.Room{}, nil, nil)
	niltest.Methods(t, elastic.MapReduce{}, nil, map[string]any{"Check": nil, "Time": time.Duration(math.MaxInt64)})
	require.Zero(t, none.Len())
	require.Zero(t, none.Extra())
	require.False(t, none.Drop(omega.AllocationID{}))
	require.Empty(t, slices.Collect(none.Workers()))
	_, err := elastic.Policy{}.Plan(elastic.Job{Need: resources.Vector{1}, Asked: 1}, elastic.Room{})
	require.ErrorIs(t, err, elastic.ErrModel)
}

func TestErrors_NameThePackageOnce(t *testing.T) {
	for text, err := range map[string]error{
		"elastic: worker's need: invalid quantity: kind0=-1, want 0 to 2^62": elasticErr(elastic.Look(omegaSnapshot(t), omega.Query{Need: resources.Vector{-1}})),
		"elastic: worker's need: invalid quantity: need is 0 of every kind, want more than 0 of one": elasticErr(
			elastic.NewTeam(1, elastic.Worker{Precedence: 1})),
		"elastic: total of the room: invalid quantity: kind0=-1, want 0 to 2^62": elasticErr(elastic.Policy{}.Plan(
			elastic.Job{Need: resources.Vector{1}, Asked: 1, Model: func(int) (d time.Duration) { return d }}, elastic.Room{Total: resources.Vector{-1}})),
	} {
		require.EqualError(t, err, text)
	}
}

func elasticErr[T any](_ T, err error) error { return err }

func omegaSnapshot(t *testing.T) *omega.Snapshot {
	t.Helper()
	return register(t, newCell(t, resources.Vector{4}), "s", omega.Limits{}).Snapshot()
}
