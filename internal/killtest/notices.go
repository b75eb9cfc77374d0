package killtest

import (
	"errors"
	"regexp"
)

// Notices runs worlds with a planted mistake, until one finds it. It returns nil if the error of that world matches
// the regular expression.
func Notices(want string, world func(seed uint64) *World) error {
	for seed := range uint64(20) {
		if err := world(seed).Run(20); err != nil {
			if regexp.MustCompile(want).MatchString(err.Error()) {
				return nil
			}
			return err
		}
	}
	return errors.New("400 kills show nothing")
}
