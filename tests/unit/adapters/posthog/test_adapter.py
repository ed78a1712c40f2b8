"""PostHog."""
