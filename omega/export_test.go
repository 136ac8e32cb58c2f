package omega

// MarksKept returns how many marks the list holds, whether or not they stand.
func MarksKept(s *Scheduler) (n int) {
	for m := s.owner.marks.Load(); m != nil && m.size > 0; m = m.next {
		n++
	}
	return n
}
