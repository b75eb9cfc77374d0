// Command sandbox serves the payment provider in memory. POST to the address of a payment pays it.
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
	"strings"
	"time"

	"github.com/couponkit/couponkit/examples/payments/internal/provider"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9000", "where the provider listens")
	shop := flag.String("shop", "http://127.0.0.1:8080", "the shop that gets the webhooks")
	flag.Parse()
	target, err := url.Parse(*shop)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	p := provider.New(address + "/pay/")
	go notify(p, httputil.NewSingleHostReverseProxy(target))
	mux := http.NewServeMux()
	mux.Handle("/", p)
	mux.HandleFunc("POST /pay/{payment}", func(w http.ResponseWriter, r *http.Request) {
		if err := p.Pay(r.PathValue("payment")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	fmt.Println(address)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.Serve(listener))
}

// notify sends each webhook until the shop has taken it.
func notify(p *provider.Provider, shop http.Handler) {
	for range time.Tick(200 * time.Millisecond) {
		if waiting := p.Webhooks(); len(waiting) > 0 {
			if status := p.Notify(context.Background(), 0, shop); status != http.StatusOK {
				log.Printf("the shop answers %d to %s", status, strings.Join(waiting, ", "))
			}
		}
	}
}
