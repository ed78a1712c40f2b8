package main

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	crmv1 "tollhouse.test/customers/acme/crm/v1"
)

// row is a customer, and whose it is.
type row struct {
	tenant   string
	customer *crmv1.Customer
}

// customers answers from memory.
type customers struct {
	crmv1.UnimplementedCustomerServiceServer

	mutex sync.Mutex
	rows  map[string]*row
	made  map[string]*crmv1.Note // by tenant and idempotency key
}

func newCustomers() *customers {
	return &customers{
		rows: map[string]*row{
			"c-1": {"acme", &crmv1.Customer{
				CustomerId: "c-1", Name: "Ann Åkesson", BalanceCents: 9007199254740993, Tier: crmv1.Tier_TIER_GOLD,
				CreatedAt: &timestamppb.Timestamp{Seconds: 1767225600, Nanos: 500000000},
				Labels:    map[string]string{"region": "north"},
			}},
			"c-2": {"globex", &crmv1.Customer{CustomerId: "c-2", Name: "Bob"}},
		},
		made: map[string]*crmv1.Note{},
	}
}

// own is the row, if it is of the caller's tenant. Another's is as if it were not there.
func (c *customers) own(ctx context.Context, id string) (*row, error) {
	found, is := c.rows[id]
	if !is || found.tenant != callerOf(ctx).Tenant {
		return nil, status.Errorf(codes.NotFound, "no customer %q", id)
	}
	return found, nil
}

func (c *customers) GetCustomer(
	ctx context.Context, request *crmv1.GetCustomerRequest,
) (*crmv1.GetCustomerResponse, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found, err := c.own(ctx, request.GetCustomerId())
	if err != nil {
		return nil, err
	}
	return &crmv1.GetCustomerResponse{Customer: found.customer}, nil
}

func (c *customers) AddNote(ctx context.Context, request *crmv1.AddNoteRequest) (*crmv1.AddNoteResponse, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if request.GetText() == "" {
		return nil, status.Error(codes.InvalidArgument, "a note needs a text")
	}
	found, err := c.own(ctx, request.GetCustomerId())
	if err != nil {
		return nil, err
	}
	who := callerOf(ctx)
	key := ""
	if keys := metadata.ValueFromIncomingContext(ctx, "x-idempotency-key"); len(keys) == 1 {
		key = who.Tenant + " " + keys[0]
		if note, is := c.made[key]; is {
			return &crmv1.AddNoteResponse{Note: note}, nil
		}
	}
	note := &crmv1.Note{
		NoteId: fmt.Sprintf("n-%d", len(found.customer.Notes)+1), Text: request.GetText(), Author: who.Agent,
	}
	found.customer.Notes = append(found.customer.Notes, note)
	if key != "" {
		c.made[key] = note
	}
	return &crmv1.AddNoteResponse{Note: note}, nil
}
