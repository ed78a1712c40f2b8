"""The options of a mail connection."""

from typing import Any

import pytest

from adapters.base import Target
from adapters.email.account import BadTarget, Server, read_account

GOOD: dict[str, Any] = {
    "host": "smtp.corp.example",
    "port": 587,
    "tls": "starttls",
    "username": "bot",
    "from": "bot@Corp.example",
}
READING: dict[str, Any] = {
    "imap_host": "imap.corp.example",
    "imap_port": 993,
    "imap_tls": "implicit",
    "sent_folder": "Sent",
    "authserv_id": "mx.corp.example",
}


def target(hosts: tuple[str, ...] = ("smtp.corp.example",), **changes: Any) -> Target:
    """A target with some options changed; None takes one out."""
    options = {key: value for key, value in (GOOD | changes).items() if value is not None}
    return Target(name="mail", hosts=hosts, options=options)


def test_good_options_make_an_account() -> None:
    """The sender's address is canonical."""
    account = read_account(target())
    assert account.smtp == Server(host="smtp.corp.example", port=587, tls="starttls")
    assert (str(account.sender), account.method, account.imap) == ("bot@corp.example", "password", None)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_plain_text_is_allowed_on_loopback(host: str) -> None:
    """A relay on the same machine may be spoken to without TLS."""
    account = read_account(target((host,), host=host, tls="none"))
    assert account.smtp is not None
    assert account.smtp.tls == "none"


def test_hosts_may_name_the_port() -> None:
    """`HOST:PORT` covers the host on that port."""
    account = read_account(target(("smtp.corp.example:587",)))
    assert account.smtp is not None
    assert account.smtp.port == 587


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
        ({"auth": "hunter2hunter2"}, "auth"),
        ({"imap_host": None}, "imap_host"),
        ({"imap_host": "other.example"}, "imap_host"),
        ({"imap_port": 0}, "imap_port"),
        ({"imap_tls": "none"}, "imap_tls"),
        ({"imap_tls": None}, "imap_tls"),
        ({"sent_folder": "Sent*"}, "sent_folder"),
        ({"sent_folder": "Sent\r\nx"}, "sent_folder"),
        ({"sent_folder": 7}, "sent_folder"),
        ({"authserv_id": "mx corp.example"}, "authserv_id"),
        ({"authserv_id": ""}, "authserv_id"),
    ],
)
def test_each_wrong_option_has_its_sentence(changes: dict[str, Any], word: str) -> None:
    """The sentence names the option and never an option's value."""
    with pytest.raises(BadTarget) as caught:
        read_account(target(("smtp.corp.example", "imap.corp.example"), **READING | changes))
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


def test_an_account_may_only_be_read() -> None:
    """Then it names no server to send through and no sender."""
    options = READING | {"username": "bot", "auth": "xoauth2"}
    account = read_account(Target(name="mail", hosts=("imap.corp.example:993",), options=options))
    assert account.imap == Server(host="imap.corp.example", port=993, tls="implicit")
    assert (account.smtp, account.sender, account.method) == (None, None, "xoauth2")
    assert (account.sent_folder, account.authserv_id) == ("Sent", "mx.corp.example")


def test_every_host_has_to_be_named() -> None:
    """A grant for the server that sends opens no other."""
    with pytest.raises(BadTarget) as caught:
        read_account(target(**READING))
    assert caught.value.problems == ["hosts must name the option imap_host: it is where the credential goes"]
