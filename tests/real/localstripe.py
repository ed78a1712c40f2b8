"""A Stripe of PyPI's `localstripe`, as the demo runs it."""

from gateway.cli.demo.emulators import LOCALSTRIPE, LocalStripe, localstripe

__all__ = ["KEY", "VERSION", "LocalStripe", "localstripe"]

VERSION = LOCALSTRIPE
KEY = "sk_test_local"
