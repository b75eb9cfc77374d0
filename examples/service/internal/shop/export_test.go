package shop

// Hash takes every place in which a password can be compared, until free is called.
func (d *DB) Hash() (free func()) {
	for range cap(d.hashing) {
		d.hashing <- struct{}{}
	}
	return func() {
		for range cap(d.hashing) {
			<-d.hashing
		}
	}
}

// What a sign-in removes.
const (
	EndedSessions   = endedSessions
	SurplusSessions = surplusSessions
)
