"""Linear."""

from collections.abc import Mapping

from adapters.base import Operation
from adapters.transport.api import ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Bearer


class LinearAdapter(ApiAdapter):
    """Linear."""

    name = "linear"

    def __init__(self, parts: ApiParts) -> None:
        vendor = Vendor(base_url="https://api.linear.app", authorises=Bearer())
        super().__init__(vendor, parts)
        self.operations: Mapping[str, Operation] = {}
