package gate

// counter is a count that can be ended. The count of an ended counter never
// changes, so its owner may replace it by the number in a sum. It is safe for
// concurrent use and lock-free.
type counter struct{ n atomicUint64 }

// ended is a bit of a counter that is ended.
const ended = 1 << 63

// load returns the count.
func (c *counter) load() uint64 { return c.n.Load() &^ ended }

// up adds one and reports true, or reports false if the counter is ended.
func (c *counter) up() bool {
	for {
		n := c.n.Load()
		if n&ended != 0 {
			return false
		}
		if c.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// end ends the counter and returns its count.
func (c *counter) end() uint64 {
	for {
		n := c.n.Load()
		if n&ended != 0 || c.n.CompareAndSwap(n, n|ended) {
			return n &^ ended
		}
	}
}
