package trial_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/delay/late"
	"github.com/cellsched/cellsched/delay/late/trial"
	"github.com/cellsched/cellsched/internal/niltest"
)

func TestZero_ValueIsUsableOrRejected(t *testing.T) {
	niltest.Methods(t, trial.Setup{}, late.ErrSize, nil)
	niltest.Methods(t, trial.History{}, late.ErrSize, nil)
	niltest.Methods(t, trial.Outcome{}, nil, nil)
	niltest.Methods(t, trial.Tuned{}, nil, map[string]any{"Gain": 1.0})
	_, err := trial.Tune(trial.History{})
	require.ErrorIs(t, err, late.ErrSize)
}

func TestErrors_NameValueAndPackageOnce(t *testing.T) {
	for text, change := range map[string]func(*trial.Setup){
		"heartbeat -1ns":       func(s *trial.Setup) { s.Heartbeat = -1 },
		"sharing NaN":          func(s *trial.Setup) { s.Sharing = math.NaN() },
		"node 0 has speed NaN": func(s *trial.Setup) { s.Speeds[0][0] = math.NaN() },
		"node 0 has 0 speeds":  func(s *trial.Setup) { s.Speeds[0] = nil },
		"task 0 of job 0":      func(s *trial.Setup) { s.Jobs[0].Stages[0].Work[0] = -1 },
	} {
		s := trial.Setup{Slots: 1, Speeds: [][]float64{{1}}, Jobs: []trial.Load{{Stages: []trial.Stage{{Work: []time.Duration{1}}}}}}
		change(&s)
		_, err := s.Run(late.Policy{})
		require.ErrorIs(t, err, late.ErrSize, text)
		require.ErrorContains(t, err, "trial: "+text)
		require.Regexp(t, "^trial: [^:]+(: [^:]+)?: [^:]+$", err.Error())
	}
}
