package lockcell

// Hold runs f while no other call gets at the cell, as when the caller with the mutex
// loses its core, or thinks.
func (c *Cell) Hold(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// ClaimHeld is Claim with time to think between looking and taking, during
// which the mutex is held: the decision is still true when it is done.
func (c *Cell) ClaimHeld(need Vector, think func()) (Handle, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.next(need)
	think()
	if m < 0 {
		return Handle{}, false
	}
	return c.take(m, need), true
}

// ClaimChecked is Claim with time to think between looking and taking, without
// the mutex, so that the room that was seen may be gone. It then looks and thinks
// again, and returns how often it had to: the optimistic way of a cell, by hand.
func (c *Cell) ClaimChecked(need Vector, think func()) (h Handle, conflicts int, ok bool) {
	for ; ; conflicts++ {
		c.mu.Lock()
		m := c.next(need)
		c.mu.Unlock()
		think()
		if m < 0 {
			return Handle{}, conflicts, false
		}
		c.mu.Lock()
		if need.fits(&c.free[m]) {
			h = c.take(m, need)
			c.mu.Unlock()
			return h, conflicts, true
		}
		c.mu.Unlock()
	}
}
