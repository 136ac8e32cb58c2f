package recordings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/bench/internal/recordings"
)

func TestFolder_IsBesideTheRepository(t *testing.T) {
	t.Setenv("CELLSCHED_DATA", "")
	require.Equal(t, filepath.FromSlash("../shared/data"), recordings.Folder("."))
	require.Equal(t, filepath.FromSlash("../../../shared/data"), recordings.Folder("../.."))
	t.Setenv("CELLSCHED_DATA", "elsewhere")
	require.Equal(t, "elsewhere", recordings.Folder("."))
}

func TestFind_SkipsMissingFolders(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("CELLSCHED_DATA", folder)
	file := filepath.Join(folder, "a.csv")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, file, recordings.Find(t, "a.csv"))
	skipped := t.Run("skipped", func(t *testing.T) {
		recordings.Find(t, "b.csv")
		t.Error("runs on")
	})
	require.True(t, skipped)
}
