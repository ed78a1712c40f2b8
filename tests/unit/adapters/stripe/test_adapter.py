"""Stripe."""
