"""Where a connection's credential goes, and what is wrong with it."""

import pytest
from fakes.apis import Renewing, parts
from fakes.transport import open_transport

from adapters.base import AdapterError, Invocation, Target
from adapters.transport.api import ApiAdapter, Vendor
from adapters.transport.base_urls import target_problems, url_problems
from adapters.transport.calls import Call, url_of

OWN = "https://api.vendor.example/v1"
POST = Call(method="POST", path="/things", json={"a": 1})
HOSTILE = ("a/b", "../x", "..%2f", "%2e%2e", "a?b=c", "a#b", "a\\b", "{}", "{0}", "ü", "a b", "\x00", "\n", "é/../")
TARGET = Target(name="c", hosts=("api.vendor.example",))


class TestBaseUrls:
    """Where a connection's credential goes."""

    @pytest.mark.parametrize(
        ("base_url", "word"),
        [
            ("http://api.vendor.example", "https"),
            ("http://localhost.evil.example", "https"),
            ("http://127.0.0.1.evil.example", "https"),
            ("http://0.0.0.0:80", "https"),
            ("https://evil.example", "must name evil.example"),
            ("https://api.vendor.example.evil.example", "must name"),
            ("https://api.vendor.example/?x=1", "query"),
            ("https://api.vendor.example?", "query"),
            ("https://api.vendor.example/#", "fragment"),
            ("https://api.vendor.example/#/v1", "fragment"),
            ("https://key@api.vendor.example", "user name"),
            ("https://api.vendor.example\\@evil.example", "backslash"),
            ("https://api.vendor.example /", "blank"),
            ("//api.vendor.example", "absolute"),
            ("ftp://api.vendor.example", "http"),
            ("https://", "host"),
            ("https://api.vendor.example:99999", "port"),
            ("", "absolute"),
            (7, "absolute"),
            (True, "absolute"),
            (None, "absolute"),
            (["https://api.vendor.example"], "absolute"),
        ],
    )
    def test_what_is_wrong_with_one_is_told_at_start(self, base_url: object, word: str) -> None:
        """Every problem, each a sentence."""
        target = Target(name="c", hosts=("api.vendor.example",), options={"base_url": base_url})
        assert [problem for problem in target_problems(target, OWN) if word in problem]

    @pytest.mark.parametrize(
        ("base_url", "hosts"),
        [
            (OWN, ("api.vendor.example",)),
            (OWN, ("api.vendor.example:443",)),
            ("https://API.vendor.example./v1/", ("api.vendor.example",)),
            ("http://127.0.0.1:8080", ("127.0.0.1:8080",)),
            ("http://localhost:8080", ("localhost",)),
            ("http://[::1]:8080", ("[::1]:8080",)),
            ("http://[::1]:8080", ("::1",)),
        ],
    )
    async def test_what_is_right_is_asked(self, base_url: str, hosts: tuple[str, ...]) -> None:
        """What a start lets pass is not refused by each call: both read it in one way."""
        target = Target(name="c", hosts=hosts, options={"base_url": base_url})
        assert target_problems(target, OWN) == []
        async with open_transport() as transport:
            call = Invocation(arguments={}, target=target, credential=None, deadline=1005.0, effect_id="e")
            vendor = Vendor(base_url=OWN, authorises=Renewing())
            with pytest.raises(AdapterError) as caught:
                await ApiAdapter(vendor, parts(transport)).api.ask(call, Call(path="/"))
        assert "among the hosts" not in caught.value.message

    def test_the_port_of_another_does_not_count(self) -> None:
        """A host with a port is that port."""
        target = Target(name="c", hosts=("api.vendor.example:8443",))
        assert len(target_problems(target, OWN)) == 1

    def test_options_that_nobody_knows_are_told(self) -> None:
        """A misspelt one would be silence else."""
        target = Target(name="c", hosts=("api.vendor.example",), options={"base_ulr": OWN, "z": 1, "team": "x"})
        problems = target_problems(target, OWN, ("team",))
        assert [problem.split("'")[1] for problem in problems] == ["base_ulr", "z"]
        assert "known are base_url, team" in problems[0]

    def test_a_slash_at_its_end_is_none_too_many(self) -> None:
        """And a path in it stays."""
        for base_url in ("https://api.vendor.example/v1", "https://api.vendor.example/v1/"):
            target = Target(name="c", options={"base_url": base_url})
            assert url_of(target, OWN, Call(path="/x")).text == "https://api.vendor.example/v1/x"

    def test_another_option_by_the_same_rules(self) -> None:
        """It is named in what is said."""
        target = Target(name="c", options={"token_url": "http://evil.example/?x"})
        assert [problem.split()[1] for problem in url_problems(target, "token_url", OWN)] == [
            "token_url",
            "token_url",
            "must",
        ]
