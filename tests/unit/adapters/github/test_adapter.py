"""GitHub."""
