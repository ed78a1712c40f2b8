package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	metadataKey = "tollhouse-assertion"
	tokenType   = "tollhouse-assertion+jwt"
	leeway      = 5 * time.Second
	// How often the keys are asked for at most, whatever is unknown.
	pause = time.Second
)

// caller is who the gateway says is asking.
type caller struct {
	Tenant string `json:"tenant"`
	Agent  string `json:"agent"`
	jwt.RegisteredClaims
}

type callerKey struct{}

// callerOf is who asks in this call.
func callerOf(ctx context.Context) *caller {
	return ctx.Value(callerKey{}).(*caller)
}

// verifier lets in who carries a good assertion for this service.
type verifier struct {
	url      string
	issuer   string
	audience string

	mutex   sync.Mutex
	keys    map[string]ed25519.PublicKey
	askedAt time.Time
}

func (v *verifier) intercept(
	ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	found := metadata.ValueFromIncomingContext(ctx, metadataKey)
	if len(found) != 1 {
		return nil, status.Errorf(codes.Unauthenticated, "exactly one %s is needed", metadataKey)
	}
	who := &caller{}
	_, err := jwt.ParseWithClaims(found[0], who, v.key,
		jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer(v.issuer), jwt.WithAudience(v.audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway))
	if err != nil {
		return nil, status.Errorf(codes.Unauthenticated, "the assertion %q is not good: %v", found[0], err)
	}
	if who.Tenant == "" || who.Agent == "" {
		return nil, status.Error(codes.Unauthenticated, "the assertion names no tenant or no agent")
	}
	return handler(context.WithValue(ctx, callerKey{}, who), request)
}

// key is the published key that a token names. An unknown one may be new, so the set is asked for again.
func (v *verifier) key(token *jwt.Token) (any, error) {
	if token.Header["typ"] != tokenType {
		return nil, fmt.Errorf("this is no %s", tokenType)
	}
	kid, _ := token.Header["kid"].(string)
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if _, is := v.keys[kid]; !is && time.Since(v.askedAt) > pause {
		v.askedAt = time.Now()
		keys, err := fetchKeys(v.url)
		if err != nil {
			return nil, err
		}
		v.keys = keys
	}
	key, is := v.keys[kid]
	if !is {
		return nil, fmt.Errorf("no key %q is published", kid)
	}
	return key, nil
}

// fetchKeys are the Ed25519 keys of a JWK set, by id.
func fetchKeys(url string) (map[string]ed25519.PublicKey, error) {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var set struct {
		Keys []struct{ Kty, Crv, Kid, X string }
	}
	if err := json.NewDecoder(response.Body).Decode(&set); err != nil {
		return nil, err
	}
	keys := map[string]ed25519.PublicKey{}
	for _, key := range set.Keys {
		if key.Kty != "OKP" || key.Crv != "Ed25519" {
			continue
		}
		raw, err := base64.RawURLEncoding.DecodeString(key.X)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("the key %q cannot be read", key.Kid)
		}
		keys[key.Kid] = raw
	}
	return keys, nil
}
