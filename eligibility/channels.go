package eligibility

import "github.com/couponkit/couponkit/coupon"

// checkChannels compares the channel of the sale with the channels of the coupon.
func (d *Decision) checkChannels(c *coupon.Coupon, q *Question) {
	allowed := &c.Conditions.Channels
	if allowed.Len() > 0 && !allowed.Has(q.Facts.Channel) && !q.notYet(q.Facts.Channel) {
		d.refuse(coupon.ChannelNotAllowed, otherChannel{*allowed, q.Facts.Channel})
	}
}

type otherChannel struct {
	allowed coupon.Items
	channel string
}

func (r otherChannel) params() coupon.Params {
	return coupon.Params{Channel: r.channel, Channels: r.allowed.Slice()}
}
