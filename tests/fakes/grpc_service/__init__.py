"""Small gRPC services, whose messages are made of their `.proto` files when a test asks."""
