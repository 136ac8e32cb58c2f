package resources_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/internal/niltest"
	"github.com/cellsched/cellsched/resources"
)

func TestNil_MethodsFailOrReturnNothing(t *testing.T) {
	niltest.Methods(t, (*resources.Space)(nil), resources.ErrQuantity, map[string]any{"Format": "0"})
	niltest.Methods(t, resources.Named{}, resources.ErrKind, map[string]any{"String": "0"})
	var none *resources.Named
	require.ErrorIs(t, none.UnmarshalText([]byte("cpu=1")), resources.ErrNil)
	require.ErrorIs(t, none.UnmarshalJSON([]byte("{}")), resources.ErrNil)
	_, err := resources.Named{Space: new(resources.Space)}.In(nil)
	require.ErrorIs(t, err, resources.ErrKind)
}
