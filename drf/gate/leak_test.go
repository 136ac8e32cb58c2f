package gate_test

import (
	"testing"

	"go.uber.org/goleak"
)

// The tests leave no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
