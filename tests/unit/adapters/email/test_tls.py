"""Contexts that check who a server is."""

import ssl
from pathlib import Path

import pytest
import trustme

from adapters.base import AdapterError, ErrorKind
from adapters.email.tls import Contexts


async def test_a_context_checks_name_and_chain(tmp_path: Path) -> None:
    """Whoever is trusted."""
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    for ca_file in (None, str(tmp_path / "ca.pem")):
        context = await Contexts().of(ca_file)
        assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)


async def test_a_context_is_built_once_for_each_version_of_a_file(tmp_path: Path) -> None:
    """And an old version is forgotten."""
    contexts, path = Contexts(), tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(path))
    first = await contexts.of(str(path))
    assert await contexts.of(str(path)) is first
    trustme.CA().cert_pem.write_to_path(str(path))
    assert await contexts.of(str(path)) is not first
    assert len(contexts._contexts) == 1


async def test_a_file_that_cannot_be_read_is_an_adapter_error(tmp_path: Path) -> None:
    """The machine's own list does not take its place."""
    with pytest.raises(AdapterError) as caught:
        await Contexts().of(str(tmp_path / "absent.pem"))
    assert caught.value.kind is ErrorKind.UNAVAILABLE
