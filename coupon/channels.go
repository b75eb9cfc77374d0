package coupon

import (
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

// MaxChannels is the maximum number of channels of a coupon. The name of a channel has at most
// [MaxTagLength] code points.
const MaxChannels = 50

// channelFaults reports each invalid channel by its position in the list.
func channelFaults(channels []string, faults *validation.Error) {
	if len(channels) > MaxChannels {
		faults.Add("channels", validation.TooLong, fmt.Sprintf("at most %d channels", MaxChannels))
		return
	}
	for i, channel := range channels {
		path := fmt.Sprintf("channels[%d]", i)
		if channel == "" {
			faults.Add(path, validation.Required, "a channel is not empty")
			continue
		}
		labelFaults(faults, path, channel)
	}
}
