// Package api is the specification's HTTP interface on couponkit's service.
//
// A handler reads a request strictly, calls one method of couponkit, and writes its
// answer; it decides nothing about coupons. Every call is one line of a table that
// names its path, who may call it, and how large its body may be, so that what
// guards a call is read in one place. Errors are problem documents (RFC 9457) whose
// codes are those of package coupon.
//
// The interface is described in openapi.json, which the tests hold every answer to.
package api
