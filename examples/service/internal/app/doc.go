// Package app puts the reference service together: store, processor, shop, HTTP
// interface and pages, with what runs in the background. [Start] is the whole
// service, so that tests start what main starts.
package app
