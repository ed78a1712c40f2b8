"""Addresses that several parts hold, and paths that count from the settings' folder."""

from pathlib import Path

import pytest

from gateway.settings.part import Part, is_loopback, wrong_address, wrong_mode, wrong_url


class Inner(Part):
    """A part of a part."""

    file: Path | None = None


class Outer(Part):
    """Every kind of place at which a path can stand."""

    path: Path
    paths: tuple[Path, ...] = ()
    inner: Inner = Inner()
    inners: tuple[Inner, ...] = ()
    address: str = ""
    scopes: tuple[str, ...] = ()


def test_every_relative_path_is_anchored() -> None:
    """At any depth; absolute ones and other texts stay."""
    part = Outer(
        path=Path("a"),
        paths=(Path("b"), Path("/c")),
        inner=Inner(file=Path("d")),
        inners=(Inner(file=Path("e")), Inner()),
        address="unix:f.sock",
    ).anchored(Path("/base"))
    assert part == Outer(
        path=Path("/base/a"),
        paths=(Path("/base/b"), Path("/c")),
        inner=Inner(file=Path("/base/d")),
        inners=(Inner(file=Path("/base/e")), Inner()),
        address="unix:/base/f.sock",
    )
    assert Outer(path=Path("a"), address="127.0.0.1:1").anchored(Path("/base")).address == "127.0.0.1:1"
    assert Outer(path=Path("a"), scopes=("unix:read",)).anchored(Path("/base")).scopes == ("unix:read",)


@pytest.mark.parametrize("url", ["https://a", "https://a:8200/path?x=1", "http://127.0.0.1:1", "http://[::1]:1/x"])
def test_addresses_that_may_be_asked(url: str) -> None:
    """Encrypted anywhere, plain on loopback."""
    assert wrong_url(url, "http", "https") == ""


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a",
        "http://a",
        "ftp://a",
        "https://",
        "https://u@a",
        "https://a:x",
        "https://a b",
        "https://a#f",
        "https://[a",
    ],
)
def test_addresses_that_may_not(url: str) -> None:
    """A sentence each, and no password in it."""
    assert wrong_url(url, "http", "https")


def test_a_password_in_an_address_is_not_repeated() -> None:
    """Settings hold no secret, and their problems are shown."""
    assert "hunter2" not in wrong_url("https://u:hunter2@a", "http", "https")


def test_loopback() -> None:
    """By name and by address, and nothing that only looks like it."""
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]")))
    assert not any(map(is_loopback, ("", "localhost.evil.example", "10.0.0.1", "0.0.0.0", "127.0.0.1.evil")))


def test_listening_addresses_and_modes() -> None:
    """What may be listened on."""
    assert (wrong_address("unix:a.sock"), wrong_address("127.0.0.1:1"), wrong_mode("0660")) == ("", "", "")
    assert wrong_address("[::1]:1") == ""
    assert all(map(wrong_address, ("unix:", "vsock:1:2", "a:1", "127.0.0.1:99999", "::1:8080")))
    assert wrong_mode("0661")
