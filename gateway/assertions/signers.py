"""Which signer the settings name."""

from adapters.base import Clock
from gateway.assertions.base import Signer
from gateway.assertions.key_file import FileSigner
from gateway.assertions.transit import Asking, Transit, TransitSigner
from gateway.errors import StartError
from gateway.settings.assertions import AssertionSettings
from gateway.telemetry import Log

KEEP_SECONDS = 60.0
"""How much longer than what it signed holds a former key is published: a service's clock may be late."""


def signer_of(
    settings: AssertionSettings, client: Transit | None, ask: Asking | None, *, clock: Clock, log: Log
) -> Signer:
    """By the key file, or by the Vault that is asked. Raises `StartError` when there is none to ask."""
    if settings.key_file is not None:
        return FileSigner(settings.key_file, clock.monotonic, keep_seconds=settings.seconds + KEEP_SECONDS)
    assert settings.transit is not None
    if client is None or ask is None:
        raise StartError("signing assertions by transit needs to know where the Vault is; add a vault section")
    return TransitSigner(settings.transit, client, ask, clock=clock, log=log)
