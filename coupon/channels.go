package coupon

// MaxChannels is the maximum number of channels of a coupon. The name of a channel has at most [MaxTagLength] code
// points.
const MaxChannels = 50

func channelFault(channel string) error { return named(channel, "a channel is not empty") }
