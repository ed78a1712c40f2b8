"""`env:NAME`: the environment of this process."""

from collections.abc import Mapping
from typing import Any

from adapters.base import Fault, Secret
from gateway.errors import Reason, Refusal


class EnvSource:
    """Reads the environment that it is handed, at every call."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._derived: dict[str, tuple[str, dict[str, Any]]] = {}

    async def resolve(self, _tenant: str, name: str) -> Secret:
        """The variable's value. An empty variable is as good as none."""
        value = self._environment.get(name, "")
        if not value:
            raise Refusal(Reason.CREDENTIAL_MISSING, "The connection's credential is not set up.")
        known = self._derived.get(name)
        if known is None or known[0] != value:
            self._derived[name] = known = (_checked(value), {})
        return Secret(value, known[1])


def _checked(value: str) -> str:
    """The value, when it is text: the environment keeps bytes that are not as lone surrogates."""
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        message = "The connection's credential cannot be read: it is not UTF-8."
        raise Refusal(Reason.CREDENTIAL_UNAVAILABLE, message, fault=Fault.MALFORMED)
    return value
