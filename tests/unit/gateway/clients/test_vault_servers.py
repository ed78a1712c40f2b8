"""Several servers of one cluster: which is asked, in which order, for how long."""

from collections.abc import Mapping
from typing import Any

import pytest

from gateway.clients.cutting import Line
from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.clients.vault_servers import Request, Servers


class Cluster:
    """Three servers; each fails as `troubles` says and takes `seconds` for it."""

    def __init__(self) -> None:
        self.troubles: dict[str, Trouble] = {}
        self.seconds: dict[str, float] = {}
        self.asked: list[tuple[str, float]] = []
        self.now = 100.0
        self.servers = Servers(("a", "b", "c"), self.carry_out, lambda: self.now)

    def carry_out(self, address: str, _request: Request, seconds: float) -> Mapping[str, Any]:
        """One of them is asked."""
        self.asked.append((address, round(seconds, 3)))
        self.now += min(self.seconds.get(address, 0.0), seconds)
        if address in self.troubles:
            raise VaultFailed(self.troubles[address])
        return {"from": address}

    def ask(self, *, is_repeatable: bool = True) -> str:
        """Who answered, or the trouble's name."""
        request = Request("", "t", lambda client: client, is_repeatable, 3.0, Line())
        try:
            return str(self.servers.ask(request)["from"])
        except VaultFailed as failed:
            return failed.trouble.name

    def order(self) -> list[str]:
        """Who was asked since the last time."""
        order, self.asked = [address for address, _ in self.asked], []
        return order


@pytest.fixture
def cluster() -> Cluster:
    """All well."""
    return Cluster()


def test_the_one_that_answered_last_is_asked_first(cluster: Cluster) -> None:
    """Also when the first is well again."""
    cluster.troubles["a"] = Trouble.UNREACHABLE
    assert (cluster.ask(), cluster.order()) == ("b", ["a", "b"])
    cluster.troubles.clear()
    assert (cluster.ask(), cluster.order()) == ("b", ["b"])


@pytest.mark.parametrize(
    ("trouble", "if_repeatable", "if_not"),
    [
        (Trouble.UNREACHABLE, True, True),
        (Trouble.UNTRUSTED, True, True),
        (Trouble.SEALED, True, True),
        (Trouble.RESET, True, False),
        (Trouble.TIMEOUT, True, False),
        (Trouble.MALFORMED, True, False),
        (Trouble.FAILED, True, False),
        (Trouble.BUSY, False, False),
        (Trouble.DENIED, False, False),
        (Trouble.REJECTED, False, False),
        (Trouble.ABSENT, False, False),
    ],
)
def test_another_is_asked_when_that_can_help_and_does_nothing_twice(
    trouble: Trouble, *, if_repeatable: bool, if_not: bool
) -> None:
    """What may have been carried out is not sent again."""
    for is_repeatable, is_for_another in ((True, if_repeatable), (False, if_not)):
        cluster = Cluster()
        cluster.troubles["a"] = trouble
        assert cluster.ask(is_repeatable=is_repeatable) == ("b" if is_for_another else trouble.name)


def test_each_has_its_share_of_the_time_that_is_left(cluster: Cluster) -> None:
    """One that hangs leaves some for the next."""
    cluster.troubles = dict.fromkeys("abc", Trouble.TIMEOUT)
    cluster.seconds = {"a": 9.0, "b": 0.5, "c": 9.0}
    assert cluster.ask() == "TIMEOUT"
    assert cluster.asked == [("a", 1.0), ("b", 1.0), ("c", 1.5)]


def test_one_that_was_given_up_is_passed_over(cluster: Cluster) -> None:
    """Unless another has been preferred meanwhile."""
    cluster.servers.pass_over(0)
    cluster.servers.pass_over(0)
    assert (cluster.ask(), cluster.order()) == ("b", ["b"])


def test_a_request_does_not_print_its_token() -> None:
    """Not by accident."""
    assert "s.token" not in repr(Request("", "s.token", lambda client: client, True, 1.0, Line()))
