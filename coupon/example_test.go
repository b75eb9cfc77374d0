package coupon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

func ExampleNew() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := coupon.New(coupon.Draft{
		Code:         " summer10 ",
		Name:         "Summer sale",
		DiscountType: pricing.Percentage,
		Percent:      "12.5",
		AppliesTo:    coupon.Product,
		DeviceIDs:    []string{"phone", "tablet"},
		MinPurchase:  coupon.Amounts{"EUR": "50"},
		MaxUses:      coupon.Set(1000),
		ExpiresAt:    calendar.On(2026, time.August, 31), // through the end of that day
	}, coupon.Creation{
		ID:       "cpn_1",
		At:       time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC),
		Location: berlin,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Code, c.Discount, c.Currency, c.State)
	fmt.Println(c.Limits.MaxUses, "in all,", c.Limits.MaxUsesPerUser, "per customer")
	fmt.Println("expires at", c.ExpiresAt.Format(time.RFC3339))
	// Output:
	// SUMMER10 12.5 % EUR active
	// 1000 in all, 1 per customer
	// expires at 2026-08-31T22:00:00Z
}

// All faults come at once, each with the path of its JSON field.
func ExampleNew_faults() {
	_, err := coupon.New(coupon.Draft{
		Code:              "SUMMER 10",
		DiscountType:      pricing.FixedAmount,
		Amount:            coupon.Amounts{"": "9.999"},
		Distribution:      coupon.UserSpecific,
		AllowedUserEmails: email.Split("ann@example.org, bob"),
		DeviceIDs:         []string{"phone"},
	}, coupon.Creation{ID: "cpn_1", At: time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC)})

	if invalid, ok := errors.AsType[*validation.Error](err); ok {
		for _, f := range invalid.Fields {
			fmt.Printf("%s (%s): %s\n", f.Path, f.Code, f.Message)
		}
	}
	// Output:
	// code (malformed): a code has no white space inside
	// allowedUserEmails[1] (malformed): "bob" is no e-mail address: the @ is missing
	// discountValue (too_many_decimals): at most 2 decimals are allowed
	// name (required): a name is required
	// deviceIds (not_allowed): a coupon for ALL takes no such selection; a SPECIFIC coupon does
}

func ExampleDraft_UnmarshalJSON() {
	var d coupon.Draft
	err := json.Unmarshal([]byte(`{"code":"ten","name":"Ten off","discountType":"FIXED_AMOUNT",
		"discountValue":"10","maxUsesPerUser":null,"planIds":["gold",7],"colour":"red"}`), &d)
	fmt.Println(err)
	_, err = coupon.New(d, coupon.Creation{ID: "cpn_1"})
	fmt.Println(err)
	// Output:
	// <nil>
	// invalid input: planIds[1]: must be text; colour: there is no such field; planIds: a coupon for ALL takes no such selection; a SPECIFIC coupon does
}

func ExampleCoupon_Apply() {
	c := exampleCoupon()
	var p coupon.Patch
	if err := json.Unmarshal([]byte(`{"name":"Autumn sale","maxUses":null,"minPurchase":"75.00"}`), &p); err != nil {
		fmt.Println(err)
		return
	}
	changed, err := c.Apply(p, coupon.Edit{At: time.Date(2026, 9, 1, 9, 0, 0, 0, time.UTC)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(changed.Name, changed.Limits.MaxUses, changed.Conditions.MinPurchase.Slice())

	_, err = c.Apply(coupon.Patch{Code: coupon.Set("AUTUMN10")}, coupon.Edit{})
	fmt.Println(err)
	// Output:
	// Autumn sale 0 [75.00 EUR]
	// invalid input: code: cannot be changed after creation
}

func ExampleParseCode() {
	for _, typed := range []string{"summer10", " SUMMER10\n", "ＳＵＭＭＥＲ１０", "straße", "SUM\u200bMER10"} {
		code, err := coupon.ParseCode(typed)
		fmt.Println(code, err)
	}
	// Output:
	// SUMMER10 <nil>
	// SUMMER10 <nil>
	// SUMMER10 <nil>
	// STRASSE <nil>
	//  invalid input: code: a code has no invisible characters such as U+200B
}

func ExampleNewEmailSet() {
	list := email.Split("Ann@example.org, bob@example.org\nann@EXAMPLE.org\n")
	set, err := coupon.NewEmailSet(list...)
	fmt.Println(set.Slice(), err, set.Has(" BOB@example.org"))
	// Output:
	// [ann@example.org bob@example.org] <nil> true
}

// A store that answers for one customer moves one address, not the whole list.
func ExampleEmailSet_Narrow() {
	set, err := coupon.NewEmailSet("ann@example.org", "bob@example.org", "cid@example.org")
	if err != nil {
		fmt.Println(err)
		return
	}
	forAnn := set.Narrow("ann@example.org")
	fmt.Println(forAnn.Slice(), "of", forAnn.Len(), forAnn.Has("ann@example.org"), forAnn.Has("bob@example.org"))
	// Output:
	// [ann@example.org] of 3 true false
}

func ExampleRejection() {
	var err error = &coupon.Rejection{CouponID: "cpn_1", Reasons: []coupon.Reason{
		{Code: coupon.CouponExpired, Params: coupon.Params{ExpiresAt: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)}},
		{Code: coupon.UsageLimitReached, Params: coupon.Params{MaxUses: 1000}},
	}}
	err = fmt.Errorf("checkout of order 17: %w", err)

	fmt.Println(errors.Is(err, coupon.ErrExpired), errors.Is(err, coupon.ErrUsageLimitReached), errors.Is(err, coupon.ErrInactive))
	if refused, ok := errors.AsType[*coupon.Rejection](err); ok {
		fmt.Println(refused.Headline().Message())
		data, err := json.Marshal(refused.Reasons[0])
		fmt.Println(string(data), err)
	}
	// Output:
	// true true false
	// This coupon has expired.
	// {"code":"coupon_expired","message":"This coupon has expired.","params":{"expiresAt":"2026-09-01T00:00:00Z"}} <nil>
}

func ExampleReject() {
	err := coupon.Reject("", coupon.CouponNotFound, coupon.Params{})
	fmt.Println(err, errors.Is(err, coupon.ErrNotFound))
	// Output:
	// coupon refused: coupon_not_found true
}

func ExampleMoment_End() {
	saoPaulo, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		fmt.Println(err)
		return
	}
	// That night the clocks went from 23:59:59 to 01:00:00.
	end, err := calendar.Moment("2018-11-03").End(saoPaulo)
	fmt.Println(end.In(saoPaulo).Format(time.RFC3339), err)
	// Output:
	// 2018-11-04T01:00:00-02:00 <nil>
}

func ExampleCoupon_Validate() {
	c := exampleCoupon()
	c.UsedCount = -1 // as no store should return it
	fmt.Println(c.Validate())
	// Output:
	// invalid input: usedCount: a count is not negative
}

func ExampleCoupon_Snapshot() {
	data, err := json.Marshal(exampleCoupon().Snapshot())
	fmt.Println(string(data), err)
	// Output:
	// {"id":"cpn_1","code":"SUMMER10","name":"Summer sale","discountType":"PERCENTAGE","discountValue":"10","currency":"EUR","appliesTo":"ALL","planIds":[],"deviceIds":[],"accessoryIds":[],"minPurchase":null,"refundPolicy":"keep","startsAt":null,"expiresAt":null,"revision":1} <nil>
}

func ExampleOptional() {
	for _, document := range []string{`{}`, `{"maxUses":null}`, `{"maxUses":5}`} {
		var p coupon.Patch
		err := json.Unmarshal([]byte(document), &p)
		value, ok := p.MaxUses.Value()
		fmt.Println(p.MaxUses.Given(), ok, value, err)
	}
	// Output:
	// false false 0 <nil>
	// true false 0 <nil>
	// true true 5 <nil>
}

func exampleCoupon() coupon.Coupon {
	c, err := coupon.New(coupon.Draft{
		Code: "SUMMER10", Name: "Summer sale", DiscountType: pricing.Percentage, Percent: "10",
	}, coupon.Creation{ID: "cpn_1", At: time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC)})
	if err != nil {
		panic(err)
	}
	return c
}

// A schedule is written as text, as an API or a form sends it.
func ExampleSchedule() {
	c, err := coupon.New(coupon.Draft{
		Code: "WEEKEND", Name: "Weekend", DiscountType: pricing.Percentage, Percent: "15",
		Schedule: coupon.Schedule{TimeZone: "Europe/Berlin", Hours: []coupon.Hours{
			{Day: time.Friday, From: "17:00", Until: "24:00"}, {Day: time.Saturday, From: "00:00", Until: "24:00"},
		}},
	}, coupon.Creation{ID: "cpn_1", At: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Conditions.Schedule.Next(c.CreatedAt))
	// Output:
	// 2026-11-20 16:00:00 +0000 UTC true
}
