// Command sandbox serves the payment provider in memory. POST to the address of a payment pays it, and
// sends all waiting webhooks to the shop. A webhook that the shop does not take waits for the next payment.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/couponkit/couponkit/examples/internal/provider"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9000", "where the provider listens")
	shop := flag.String("shop", "http://127.0.0.1:8080", "the shop that gets the webhooks")
	flag.Parse()
	target, err := url.Parse(*shop)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	p, webhooks := provider.New(address+"/pay/"), httputil.NewSingleHostReverseProxy(target)
	mux := http.NewServeMux()
	mux.Handle("/", p)
	mux.HandleFunc("POST /pay/{payment}", func(w http.ResponseWriter, r *http.Request) {
		if err := p.Pay(r.PathValue("payment")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		for len(p.Webhooks()) > 0 {
			if status := p.Notify(r.Context(), 0, webhooks); status != http.StatusOK {
				log.Printf("the shop answers %d", status)
				return
			}
		}
	})
	fmt.Println(address)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.Serve(listener))
}
