"""Google Calendar."""

from collections.abc import Mapping

from adapters.base import Operation
from adapters.transport.api import ApiAdapter, ApiParts, Vendor
from adapters.transport.authorisation import Bearer


class CalendarAdapter(ApiAdapter):
    """Google Calendar."""

    name = "calendar"

    def __init__(self, parts: ApiParts) -> None:
        vendor = Vendor(base_url="https://www.googleapis.com/calendar/v3", authorises=Bearer())
        super().__init__(vendor, parts)
        self.operations: Mapping[str, Operation] = {}
