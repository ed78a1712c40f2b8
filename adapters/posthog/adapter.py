"""PostHog."""

from collections.abc import Mapping

from adapters.base import Operation
from adapters.transport.api import ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Bearer


class PostHogAdapter(ApiAdapter):
    """PostHog."""

    name = "posthog"

    def __init__(self, parts: ApiParts) -> None:
        vendor = Vendor(base_url="https://us.posthog.com", authorises=Bearer())
        super().__init__(vendor, parts)
        self.operations: Mapping[str, Operation] = {}
