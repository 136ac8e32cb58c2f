//go:build explore

package explore

import "iter"

// coroutine runs one body after the other, each a thread of a run. It is kept
// from run to run, since its stack then has grown already.
type coroutine struct {
	body      func()
	resume    func() (struct{}, bool)
	stop      func()
	yield     func(struct{}) bool
	abandoned bool
}

// abandoned unwinds a thread of a run that goes no further.
type abandoned struct{}

// coroutine returns number n, which it makes where needed; those below it exist.
func (x *explorer) coroutine(n int) *coroutine {
	if n == len(x.coroutines) {
		c := &coroutine{}
		c.resume, c.stop = iter.Pull(func(yield func(struct{}) bool) {
			c.yield = yield
			for {
				c.body()
				if !yield(struct{}{}) {
					return
				}
			}
		})
		x.coroutines = append(x.coroutines, c)
	}
	return x.coroutines[n]
}

// pause returns when the body is resumed, and unwinds it when it is abandoned.
func (c *coroutine) pause() {
	if !c.yield(struct{}{}) || c.abandoned {
		panic(abandoned{})
	}
}

// abandon ends a body that has paused.
func (c *coroutine) abandon() {
	c.abandoned = true
	c.resume()
	c.abandoned = false
}

// end ends all coroutines; none of them is in a body.
func (x *explorer) end() {
	for _, c := range x.coroutines {
		c.stop()
	}
}
