"""Google Calendar."""
