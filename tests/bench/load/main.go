// Load sends prepared gRPC bodies over a few connections and reports what came back.
//
// usage: load -addr HOST:PORT|unix:PATH -method /pkg.Service/Method -bodies FILE -n 20000 -c 64 [-conns 4] [-token T]
//
// FILE holds bodies, each behind a 4-byte big-endian length. Bodies are sent in order, so that each
// of n calls has a body of its own when the file holds n. The report is one JSON object on stdout.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// raw passes bytes through unencoded, so that the client's share of the work stays small.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = append((*v.(*[]byte))[:0], data...); return nil }
func (raw) Name() string                       { return "proto" }

type report struct {
	Calls    int            `json:"calls"`
	Seconds  float64        `json:"seconds"`
	RPS      float64        `json:"rps"`
	P50ms    float64        `json:"p50_ms"`
	P99ms    float64        `json:"p99_ms"`
	Statuses map[string]int `json:"statuses"`
}

func readBodies(path string) ([][]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var bodies [][]byte
	for len(data) >= 4 {
		size := int(binary.BigEndian.Uint32(data))
		if len(data) < 4+size {
			return nil, fmt.Errorf("%s: cut off in body %d", path, len(bodies))
		}
		bodies, data = append(bodies, data[4:4+size]), data[4+size:]
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("%s: no bodies", path)
	}
	return bodies, nil
}

func main() {
	addr := flag.String("addr", "", "HOST:PORT or unix:PATH")
	method := flag.String("method", "", "/package.Service/Method")
	file := flag.String("bodies", "", "file of length-prefixed bodies")
	n := flag.Int("n", 10000, "calls to send")
	inFlight := flag.Int("c", 64, "calls in flight")
	connections := flag.Int("conns", 4, "connections")
	token := flag.String("token", "", "bearer token")
	flag.Parse()
	if err := run(*addr, *method, *file, *n, *inFlight, *connections, *token); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addr, method, file string, n, inFlight, connections int, token string) error {
	bodies, err := readBodies(file)
	if err != nil {
		return err
	}
	conns := make([]*grpc.ClientConn, min(connections, inFlight))
	for i := range conns {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
		if err != nil {
			return err
		}
		conns[i] = conn
	}
	ctx := context.Background()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	latencies := make([]time.Duration, n)
	statuses := map[string]int{}
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for w := 0; w < inFlight; w++ {
		wg.Add(1)
		go func(conn *grpc.ClientConn) {
			defer wg.Done()
			var out []byte
			mine := map[string]int{}
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					break
				}
				sent := time.Now()
				err := conn.Invoke(ctx, method, &bodies[i%len(bodies)], &out)
				latencies[i] = time.Since(sent)
				mine[status.Code(err).String()]++
			}
			mu.Lock()
			defer mu.Unlock()
			for k, v := range mine {
				statuses[k] += v
			}
		}(conns[w%len(conns)])
	}
	wg.Wait()
	elapsed := time.Since(start).Seconds()
	sort.Slice(latencies, func(i, j int) bool { return latencies[i] < latencies[j] })
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return json.NewEncoder(os.Stdout).Encode(report{n, elapsed, float64(n) / elapsed, ms(latencies[n/2]), ms(latencies[n*99/100]), statuses})
}
