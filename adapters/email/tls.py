"""TLS contexts that check who a mail server is."""

import asyncio
import ssl
from pathlib import Path

from adapters.base import AdapterError, ErrorKind, Fault, Happened


class Contexts:
    """One context for each file of authorities, built once per version of the file."""

    def __init__(self) -> None:
        self._contexts: dict[str, tuple[int, ssl.SSLContext]] = {}

    async def of(self, ca_file: str | None) -> ssl.SSLContext:
        """The context that trusts the authorities in a file, or the machine's own. Raises `AdapterError`."""
        try:
            version = _version(ca_file)
            known = self._contexts.get(ca_file or "")
            if known is None or known[0] != version:
                known = (version, await asyncio.to_thread(_verifying_context, ca_file))
                self._contexts[ca_file or ""] = known
        except (OSError, ssl.SSLError, ValueError) as error:
            message = "The mail connection's certificate authorities cannot be read."
            raise AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=Fault.REFUSED) from error
        return known[1]


def _version(ca_file: str | None) -> int:
    return Path(ca_file).stat().st_mtime_ns if ca_file is not None else 0


def _verifying_context(ca_file: str | None) -> ssl.SSLContext:
    """A context that checks the server's name and chain. Built by hand: `create_default_context` obeys
    `SSLKEYLOGFILE`, and the default paths obey `SSL_CERT_FILE`, so that the environment could read along.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
        return context
    if Path(paths.openssl_cafile).exists():
        context.load_verify_locations(cafile=paths.openssl_cafile)
    if Path(paths.openssl_capath).is_dir():
        context.load_verify_locations(capath=paths.openssl_capath)
    return context
