"""Where the store is, and how it is logged in to."""

from pathlib import Path

import pydantic
import pytest

from gateway.settings.store import StoreSettings

SERVER = "postgresql://db.corp.example/tollhouse"


def _wrong(**given: object) -> str:
    with pytest.raises(pydantic.ValidationError) as caught:
        StoreSettings.model_validate(given)
    return str(caught.value.errors(include_input=False)[0]["msg"])


def test_a_file_is_named_by_its_path() -> None:
    """A relative one counts from the settings' own folder."""
    settings = StoreSettings(url="sqlite:state/store.db").anchored(Path("/srv"))
    assert (settings.is_sqlite, settings.path) == (True, Path("/srv/state/store.db"))


def test_a_server_is_named_by_its_address() -> None:
    """The port is PostgreSQL's when none is given. The password's file is anchored and the address is not."""
    settings = StoreSettings(url=SERVER, user="app", password_file=Path("pw")).anchored(Path("/srv"))
    assert settings.server == ("db.corp.example", 5432, "tollhouse")
    assert (settings.url, settings.password_file) == (SERVER, Path("/srv/pw"))
    assert StoreSettings(url="postgresql://[::1]:6432/x", user="a").server == ("::1", 6432, "x")


def test_beyond_loopback_the_connection_is_encrypted() -> None:
    """On loopback only where somebody is named to vouch for the server."""
    assert StoreSettings(url=SERVER, user="app").is_encrypted
    loopback = "postgresql://127.0.0.1/x"
    assert not StoreSettings(url=loopback, user="app").is_encrypted
    assert StoreSettings(url=loopback, user="app", ca_file=Path("ca.pem")).is_encrypted


@pytest.mark.parametrize("url", ["sqlite:", "sqlite:/", "sqlite:///x.db", "sqlite:x.db?mode=memory"])
def test_what_is_no_file_is_refused(url: str) -> None:
    """Also what SQLAlchemy would take for one."""
    assert "is not sqlite:PATH" in _wrong(url=url)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://h/x", "neither sqlite:PATH nor postgresql://"),
        ("postgresql:///x", "neither sqlite:PATH nor postgresql://"),
        ("postgresql://[h/x", "neither sqlite:PATH nor postgresql://"),
        ("postgresql://h:port/x", "neither sqlite:PATH nor postgresql://"),
        ("postgresql://h/x?sslmode=disable", "the address takes no options"),
        ("postgresql://h", "must name one database"),
        ("postgresql://h/x/y", "must name one database"),
    ],
)
def test_what_is_no_server_is_refused(url: str, message: str) -> None:
    """One sentence that says what an address looks like."""
    assert message in _wrong(url=url, user="app")


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    """Settings hold no secret, and neither does what is said of them."""
    said = _wrong(url="postgresql://app:hunter2@h/x", user="app")
    assert "must not hold a user or a password" in said
    assert "hunter2" not in said


def test_a_server_needs_a_user_and_a_file_takes_none() -> None:
    """Each has what is its own."""
    assert "name the user" in _wrong(url=SERVER)
    assert "are for PostgreSQL" in _wrong(url="sqlite:x.db", user="app")
