"""What the store asks of whoever seals: results, parked arguments and previews are private."""

from typing import Protocol


class SealBroken(Exception):  # noqa: N818 - named for what it is
    """Cannot be sealed, or does not open: another key, another place, or changed. Holds nothing of the content."""


class SealDown(SealBroken):
    """Cannot be sealed or opened now, since whoever holds the keys cannot be asked; the same may go well later."""


class Seal(Protocol):
    """Seals bytes under a tenant's key, bound to the place where they are kept."""

    async def seal(self, tenant: str, place: str, plain: bytes) -> bytes:
        """What is kept instead. Raises `SealBroken`."""
        ...

    async def open(self, tenant: str, place: str, sealed: bytes) -> bytes:
        """The bytes again, at the place where they were sealed alone. Raises `SealBroken`."""
        ...
