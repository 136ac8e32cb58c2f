package lockcell

// ClaimJob takes need up to k times under one lock, next fit, appends the
// handles to into and returns it: fewer than k where the cell has become full.
// Cost: O(machines + k).
func (c *Cell) ClaimJob(into []Handle, need Vector, k int) []Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k > 0 {
		m := c.next(need)
		if m < 0 {
			return into
		}
		// As many as fit there, without looking again.
		for ; k > 0 && need.fits(&c.free[m]); k-- {
			into = append(into, c.take(m, need))
		}
	}
	return into
}

// ClaimGang takes need on k different machines under one lock, or nothing. It
// appends the handles to into and returns it, and whether there was room. Cost:
// O(machines + k).
func (c *Cell) ClaimGang(into []Handle, need Vector, k int) ([]Handle, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.picks = c.picks[:0]
	m := c.cursor
	for range c.free {
		if len(c.picks) == k {
			break
		}
		if need.fits(&c.free[m]) {
			c.picks = append(c.picks, int32(m))
		}
		if m++; m == len(c.free) {
			m = 0
		}
	}
	if len(c.picks) < k {
		return into, false
	}
	c.cursor = m
	for _, m := range c.picks {
		into = append(into, c.take(int(m), need))
	}
	return into, true
}

// ReleaseAll gives back all of the handles under one lock. Errors:
// [ErrReleased] if one is not live; those before it are given back.
func (c *Cell) ReleaseAll(handles []Handle) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range handles {
		if err := c.release(h); err != nil {
			return err
		}
	}
	return nil
}
