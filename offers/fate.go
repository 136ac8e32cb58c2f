package offers

// fate is the state of an offer.
type fate uint8

const (
	fateVacant fate = iota // there is none
	fateOutstanding
	fateAccepted // its accept is on the way, or in doubt: see accepting
	fateUsed
	fateDeclined
	fateRescinded
	fateExpired
)

// reason returns the error of an answer to an offer that has ended.
func (f fate) reason() error {
	switch f {
	case fateUsed:
		return errUsed
	case fateDeclined:
		return errDeclined
	case fateRescinded:
		return ErrRescinded
	case fateExpired:
		return ErrExpired
	case fateAccepted:
		return ErrPending
	case fateVacant, fateOutstanding:
	}
	return ErrUnknown
}
