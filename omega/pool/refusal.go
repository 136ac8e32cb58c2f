package pool

import (
	"errors"

	"github.com/cellsched/cellsched/internal/fault"
)

// refuse returns an error of this package: what was tried, with the figures, and
// the condition last.
func refuse(cause error, text string) error { return fault.New("pool", text, cause) }

// because is a refusal for the reason that another error gives.
func because(cause error, text string, why error) error {
	if errors.Is(why, cause) { // its text names the condition
		return fault.Text("pool: "+text+": "+fault.Bare(why), why)
	}
	return fault.Text("pool: "+text+": "+fault.Bare(why)+": "+fault.Bare(cause), cause, why)
}
