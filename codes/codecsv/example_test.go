package codecsv_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// A file that a spreadsheet has saved: good rows are drafts, and the others name their fields.
func ExampleReader_Rows() {
	file := "Code;Redemption Limit;Expiration Date\n" +
		"SPRING-1;1,0;31.03.2027\n" +
		"SPRING-2;1.000;03/04/2027\n"
	reader, err := codecsv.NewReader(strings.NewReader(file), codecsv.Options{})
	if err != nil {
		panic(err)
	}
	for row, err := range reader.Rows() {
		if err != nil {
			panic(err)
		}
		if row.Refusal == nil {
			fmt.Println(row.Number, row.Draft.Code, row.Draft.ExpiresAt)
			continue
		}
		if refusal, is := errors.AsType[*validation.Error](row.Refusal); is {
			for _, fault := range refusal.Fields {
				fmt.Println(row.Number, fault.Path, fault.Code)
			}
		}
	}
	// Output:
	// 2 SPRING-1 2027-03-31
	// 3 maxUses malformed
	// 3 expiresAt malformed
}

// A handmade code that a spreadsheet would run gets an apostrophe.
func ExampleWriter() {
	writer, err := codecsv.NewWriter(os.Stdout, codecsv.WriteOptions{Separator: ';'})
	if err != nil {
		panic(err)
	}
	at := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	err = writer.Write(coupon.IssuedCode{
		Code: coupon.StoredCode("=SPRING"), CouponID: "cpn_1", Batch: "spring", MaxUses: 1, Active: true, CreatedAt: at, UpdatedAt: at, Revision: 1,
	})
	if err != nil {
		panic(err)
	}
	if err := writer.Flush(); err != nil {
		panic(err)
	}
	// Output:
	// code;couponId;batch;maxUses;owner;expiresAt;active;usedCount;reservedCount;createdAt;updatedAt;revision
	// '=SPRING;cpn_1;spring;1;;;true;0;0;2027-03-01T12:00:00Z;2027-03-01T12:00:00Z;1
}
