"""The options of a mail connection."""

from typing import Any

import pytest

from adapters.base import Target
from adapters.email.account import BadTarget, read_account

GOOD: dict[str, Any] = {
    "host": "smtp.corp.example",
    "port": 587,
    "tls": "starttls",
    "username": "bot",
    "from": "bot@Corp.example",
}


def target(hosts: tuple[str, ...] = ("smtp.corp.example",), **changes: Any) -> Target:
    """A target with some options changed; None takes one out."""
    options = {key: value for key, value in (GOOD | changes).items() if value is not None}
    return Target(name="mail", hosts=hosts, options=options)


def test_good_options_make_an_account() -> None:
    """The sender's address is canonical."""
    account = read_account(target())
    assert (account.host, account.port, str(account.sender)) == ("smtp.corp.example", 587, "bot@corp.example")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_plain_text_is_allowed_on_loopback(host: str) -> None:
    """A relay on the same machine may be spoken to without TLS."""
    assert read_account(target((host,), host=host, tls="none")).tls == "none"


def test_hosts_may_name_the_port() -> None:
    """`HOST:PORT` covers the host on that port."""
    assert read_account(target(("smtp.corp.example:587",))).port == 587


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"host": None}, "host"),
        ({"host": "smtp.corp.example\r\n"}, "host"),
        ({"host": "other.example"}, "hosts"),
        ({"port": None}, "port"),
        ({"port": 0}, "port"),
        ({"port": True}, "port"),
        ({"port": "587"}, "port"),
        ({"tls": None}, "tls"),
        ({"tls": "no"}, "tls"),
        ({"tls": "none"}, "loopback"),
        ({"username": None}, "username"),
        ({"username": "bot\r\nQUIT"}, "username"),
        ({"from": None}, "from"),
        ({"from": "bot@corp.example, x@evil.test"}, "from"),
        ({"ca_file": 7}, "ca_file"),
        ({"password": "hunter2hunter2"}, "password"),
    ],
)
def test_each_wrong_option_has_its_sentence(changes: dict[str, Any], word: str) -> None:
    """The sentence names the option and never an option's value."""
    with pytest.raises(BadTarget) as caught:
        read_account(target(**changes))
    assert len(caught.value.problems) == 1
    assert word in caught.value.problems[0]
    assert "hunter2" not in str(caught.value)


def test_hosts_must_cover_the_port_that_is_used() -> None:
    """A grant for one port of a host does not open another."""
    with pytest.raises(BadTarget):
        read_account(target(("smtp.corp.example:25",)))


def test_all_problems_come_together() -> None:
    """Somebody who writes a manifest sees everything at once."""
    with pytest.raises(BadTarget) as caught:
        read_account(Target(name="mail"))
    assert len(caught.value.problems) == 5
