// Command customers is a service of a company's own: it knows nobody but by an assertion that the gateway signs, and
// lets each tenant see its own rows alone.
//
// It says where it listens as its first line, `listening on 127.0.0.1:PORT`.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	crmv1 "tollhouse.test/customers/acme/crm/v1"
)

func main() {
	jwks := flag.String("jwks", "", "URL of the gateway's published verification keys")
	issuer := flag.String("issuer", "", "who signs assertions")
	audience := flag.String("audience", "", "whom they are for: this service")
	publishes := flag.Bool("reflection", true, "publish what is offered")
	flag.Parse()

	verifier := &verifier{url: *jwks, issuer: *issuer, audience: *audience}
	server := grpc.NewServer(grpc.UnaryInterceptor(verifier.intercept))
	crmv1.RegisterCustomerServiceServer(server, newCustomers())
	if *publishes {
		reflection.Register(server)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	log.Fatal(server.Serve(listener))
}
