"""A seal that can be read by whoever has this file."""

from gateway.store.sealing import SealBroken

_MARK = b"sealed:"


class FakeSeal:
    """`Seal`: turns bits over and writes the place before them. While `is_broken` nothing is sealed or opened."""

    def __init__(self) -> None:
        self.is_broken = False

    async def seal(self, tenant: str, place: str, plain: bytes) -> bytes:
        """The bytes, turned over."""
        self._check()
        return self._mark(tenant, place) + bytes(byte ^ 0xFF for byte in plain)

    async def open(self, tenant: str, place: str, sealed: bytes) -> bytes:
        """The bytes again."""
        self._check()
        mark = self._mark(tenant, place)
        if not sealed.startswith(mark):
            raise SealBroken("sealed at another place")
        return bytes(byte ^ 0xFF for byte in sealed.removeprefix(mark))

    def _check(self) -> None:
        if self.is_broken:
            raise SealBroken("the seal is broken")

    @staticmethod
    def _mark(tenant: str, place: str) -> bytes:
        return _MARK + f"{tenant}/{place}:".encode()
