"""A listener's certificates, from files that somebody else rotates."""

import ssl
from collections.abc import Callable

from gateway.errors import StartError
from gateway.settings.listeners import TlsSettings
from gateway.watched import FileUnusable, WatchedFile


class Certificates:
    """The newest TLS context that could be made of the files."""

    def __init__(self, settings: TlsSettings, monotonic: Callable[[], float], on_unusable: Callable[[], None]) -> None:
        """`on_unusable` hears when the files changed and cannot be used; what they were before stays in use."""
        self._settings = settings
        paths = (settings.cert_file, settings.key_file, settings.client_ca_file)
        self._files = tuple(WatchedFile(path, monotonic) for path in paths if path is not None)
        self._on_unusable = on_unusable
        self._tried: tuple[bytes, ...] = ()
        self._context: ssl.SSLContext | None = None

    def load(self) -> None:
        """Read the files. Raises `StartError`: a listener that starts must have certificates."""
        try:
            self._tried = self._read()
            self._context = _context(self._settings)
        except FileUnusable as error:
            raise StartError(f"the metrics listener cannot use its certificates: {error}") from error
        except (OSError, ValueError) as error:
            raise StartError(
                f"the metrics listener cannot use its certificates: {self._settings.cert_file}, its key or its "
                "client_ca_file is not what it should be"
            ) from error

    def context(self) -> ssl.SSLContext:
        """What the next connection is greeted with. Call `load` first."""
        assert self._context is not None
        try:
            content = self._read()
        except FileUnusable:
            content = ()  # in the middle of a rotation, or gone
        if content != self._tried:
            self._tried = content
            self._take_over()
        return self._context

    def _take_over(self) -> None:
        try:
            self._context = _context(self._settings)
        except (OSError, ValueError):
            self._on_unusable()

    def _read(self) -> tuple[bytes, ...]:
        return tuple(file.read() for file in self._files)


def _context(settings: TlsSettings) -> ssl.SSLContext:
    """Raises `OSError` (of which `ssl.SSLError` is one) and `ValueError`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Without a password of ours OpenSSL would ask for that of an encrypted key on the terminal.
    context.load_cert_chain(settings.cert_file, settings.key_file, password=lambda: b"")
    if settings.client_ca_file is not None:
        context.load_verify_locations(settings.client_ca_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
