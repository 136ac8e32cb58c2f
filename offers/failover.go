package offers

import (
	"fmt"
)

// admits returns an error unless a caller with that epoch may register as f.
func (f *member) admits(epoch uint64) error {
	switch last := f.reg.Epoch; {
	case epoch < last:
		return fmt.Errorf("%w: framework %q, epoch %d: epoch %d has spoken for it", ErrFenced, f.name, epoch, last)
	case epoch == last && f.connected:
		return fmt.Errorf("%w: framework %q is registered already with epoch %d: want a higher one than that to take over, not %d",
			errName, f.name, last, epoch)
	}
	return nil
}
