"""A vendor's JSON API: what is asked, what answers mean, and what hostile arguments and vendors cannot do."""

import asyncio
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from fakes.apis import Bench, Renewing, bench, parts
from fakes.transport import open_transport
from fakes.vendor import CREDENTIAL, Asked, Said, saying, vendor_server

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Invocation, Target
from adapters.transport.api import ApiAdapter, Pause, Vendor
from adapters.transport.authorisation import Bearer
from adapters.transport.calls import Call
from adapters.transport.replies import Reply

OWN = "https://api.vendor.example/v1"
POST = Call(method="POST", path="/things", json={"a": 1})
HOSTILE = ("a/b", "../x", "..%2f", "%2e%2e", "a?b=c", "a#b", "a\\b", "{}", "{0}", "ü", "a b", "\x00", "\n", "é/../")
TARGET = Target(name="c", hosts=("api.vendor.example",))


def reply(status: int = 200, value: Any = None, **more: Any) -> Reply:
    """An answer."""
    return Reply(status=status, headers={}, value=value, happened=Happened.UNKNOWN, **more)


class TestRequests:
    """What goes out."""

    async def test_a_call_is_a_request_with_all_that_it_says(self) -> None:
        """Query, body, headers, and who asks."""
        call = Call(
            method="PATCH",
            path="/things/7",
            query={"a": "x y&z", "none": None, "yes": True, "no": False, "n": 3, "list": ["p", "q"], "empty": []},
            json={"name": "ü", "n": None},
            headers={"X-Own": "1"},
        )
        async with vendor_server(Said({})) as server, bench(server, headers={"X-Vendor": "v"}) as one:
            await one.ask(call)
        (asked,) = server.asked
        assert (asked.method, asked.path, asked.json) == ("PATCH", "/things/7", {"name": "ü", "n": None})
        assert asked.query == {"a": ["x y&z"], "yes": ["true"], "no": ["false"], "n": ["3"], "list": ["p", "q"]}
        wanted = {"X-Own": "1", "X-Vendor": "v", "Accept": "application/json", "Authorization": f"Bearer {CREDENTIAL}"}
        assert {name: asked.headers[name] for name in wanted} == wanted
        assert asked.headers["User-Agent"].startswith("tollhouse/")

    async def test_a_form_and_bytes_instead(self) -> None:
        """With their types."""
        async with vendor_server(Said({})) as server, bench(server) as one:
            await one.ask(Call(method="POST", path="/", form={"a": "x&y=z", "b": "ü"}))
            await one.ask(Call(method="PUT", path="/", body=b"\x00\x01", headers={"Content-Type": "image/png"}))
        form, raw = server.asked
        assert form.form == {"a": "x&y=z", "b": "ü"}
        assert form.headers["Content-Type"] == "application/x-www-form-urlencoded"
        assert (raw.body, raw.headers["Content-Type"]) == (b"\x00\x01", "image/png")

    @pytest.mark.parametrize("value", [{}, [], 0, False, ""])
    async def test_empty_json_is_json(self, value: Any) -> None:
        """None alone is nothing."""
        async with vendor_server(Said({})) as server, bench(server) as one:
            await one.ask(Call(method="POST", path="/", json=value))
        assert server.asked[0].json == value

    async def test_no_header_of_a_call_takes_the_place_of_the_proof(self) -> None:
        """Whatever an argument made of it."""
        async with vendor_server(Said({})) as server, bench(server) as one:
            await one.ask(Call(path="/", headers={"Authorization": "Bearer planted"}))
        assert server.asked[0].headers["Authorization"] == f"Bearer {CREDENTIAL}"

    @pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "\r", "\x00", "a\x7f", "é", "\ud800", "\u2028"])
    async def test_an_argument_in_a_header_stays_one_line(self, value: str) -> None:
        """Nothing is sent else, and that is certain."""
        async with vendor_server(Said({})) as server, bench(server) as one:
            error = await one.failure(Call(method="POST", path="/", headers={"If-Match": value}))
        assert (error.kind, error.happened) == (ErrorKind.INVALID, Happened.NO)
        assert not server.asked

    @pytest.mark.parametrize(
        "call",
        [
            Call(path="/", query={"q": "\ud800"}),
            Call(path="/", query={"q": "x" * 5000}),
            Call(method="POST", path="/", json={"q": "\ud800"}),
            Call(method="POST", path="/", json={"n": 2**70}),
            Call(method="POST", path="/", form={"q": "\ud800"}),
        ],
        ids=repr,
    )
    async def test_what_cannot_be_written_is_an_argument_that_is_wrong(self, call: Call) -> None:
        """Never a crash, and nothing has happened."""
        async with vendor_server(Said({})) as server, bench(server) as one:
            error = await one.failure(call)
        assert (error.kind, error.happened) == (ErrorKind.INVALID, Happened.NO)
        assert not server.asked

    def test_a_call_does_not_print_what_it_carries(self) -> None:
        """It may be private."""
        call = Call(path="/", query={"q": "private"}, json="private", form={"a": "private"}, headers={"x": "private"})
        assert "private" not in repr(call)
        assert "private" not in repr(reply(value="private"))


class TestAnswers:
    """What a vendor says."""

    async def test_a_good_one_is_its_value(self) -> None:
        """Of any JSON; none at all is None."""
        for value in ({"a": 1}, [1], "text", 7, None):
            async with vendor_server(Said(value, status=201)) as server, bench(server) as one:
                found = await one.ask()
            assert (found.status, found.value, found.attempts) == (201, value, 1)
        async with vendor_server(Said(body=b" \n", status=204)) as server, bench(server) as one:
            assert (await one.ask()).value is None

    @pytest.mark.parametrize("body", [b"<html>", b"{", b"\xff", b'{"a": NaN}', b'"\\ud800"', b"[" * 2000 + b"]" * 2000])
    async def test_what_is_no_json_is_malformed(self, body: bytes) -> None:
        """And proves nothing of a write: it may be a proxy that wants somebody to sign in."""
        async with vendor_server(Said(body=body)) as server, bench(server) as one:
            read, write = await one.failure(), await one.failure(POST)
        assert (read.kind, read.happened, read.fault) == (ErrorKind.MALFORMED, Happened.NO, Fault.MALFORMED)
        assert (write.kind, write.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)

    async def test_of_an_error_the_status_is_enough(self) -> None:
        """A page of a proxy is no JSON."""
        async with vendor_server(Said(body=b"<html>", status=404)) as server, bench(server) as one:
            assert (await one.failure()).kind is ErrorKind.NOT_FOUND

    async def test_one_without_end_is_too_large(self) -> None:
        """It was not read, so nobody knows whose it is."""
        call = Call(method="POST", path="/", max_bytes=100)
        async with vendor_server(Said(body=b'"' + b"x" * 1000 + b'"')) as server, bench(server) as one:
            error = await one.failure(call)
        assert (error.kind, error.happened) == (ErrorKind.TOO_LARGE, Happened.UNKNOWN)

    async def test_a_redirect_is_not_followed(self) -> None:
        """The credential would go along; for a write nobody knows what came of it."""
        said = Said({}, status=302, headers={"Location": "http://127.0.0.1:1/"})
        async with vendor_server(said) as server, bench(server) as one:
            read, write = await one.failure(), await one.failure(POST)
        assert (read.kind, read.happened) == (ErrorKind.MALFORMED, Happened.NO)
        assert (write.kind, write.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)
        assert len(server.asked) == 2

    async def test_the_judge_is_asked_of_every_answer(self) -> None:
        """An error may be inside a 200, and a 404 may be none."""

        def judge(given: Reply) -> AdapterError | None:
            if given.status == 404:
                return None
            return given.error(ErrorKind.CONFLICT, "Ours.", happened=Happened.NO) if not given.value["ok"] else None

        answers = saying(Said({"ok": False}), Said({}, status=404))
        async with vendor_server(answers) as server, bench(server, judge=judge) as one:
            error = await one.failure(POST)
            assert (error.kind, error.message, error.happened) == (ErrorKind.CONFLICT, "Ours.", Happened.NO)
            assert (await one.ask(POST)).status == 404


class TestRepetition:
    """A write is sent once, unless the vendor tells repetitions apart."""

    @pytest.mark.parametrize(
        ("call", "count"),
        [
            (Call(path="/"), 3),
            (POST, 1),
            (Call(method="POST", path="/", json={}, is_read=True), 3),
            (Call(method="POST", path="/", json={}, has_native_key=True), 3),
            (Call(method="DELETE", path="/"), 1),
            (Call(method="PUT", path="/", json={}), 1),
        ],
        ids=repr,
    )
    async def test_how_often(self, call: Call, count: int) -> None:
        """Of a vendor that is down."""
        async with vendor_server(Said({}, status=503)) as server, bench(server) as one:
            error = await one.failure(call)
        assert (len(server.asked), error.attempts) == (count, count)

    async def test_what_is_refused_is_renewed_once_and_no_more(self) -> None:
        """With a new proof; also a write, which the vendor has certainly not carried out."""
        for call in (Call(path="/"), POST):
            way = Renewing()
            async with vendor_server(Said({}, status=401)) as server, bench(server, authorises=way) as one:
                error = await one.failure(call)
            assert error.kind is ErrorKind.NEEDS_AUTHORISATION
            assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer token-0", "Bearer token-1"]

    async def test_a_renewed_proof_carries_the_same_request(self) -> None:
        """Body and all."""
        answers = saying(Said({}, status=401), Said({"ok": 1}))
        async with vendor_server(answers) as server, bench(server, authorises=Renewing()) as one:
            assert (await one.ask(POST)).value == {"ok": 1}
        assert [asked.json for asked in server.asked] == [{"a": 1}] * 2

    async def test_without_another_proof_it_is_asked_once(self) -> None:
        """A plain token is what it is."""
        async with vendor_server(Said({}, status=401)) as server, bench(server, authorises=Renewing(renewals=0)) as one:
            assert (await one.failure()).kind is ErrorKind.NEEDS_AUTHORISATION
        assert len(server.asked) == 1

    @pytest.mark.parametrize("happened", [Happened.UNKNOWN, Happened.YES])
    async def test_what_may_have_happened_is_not_sent_again(self, happened: Happened) -> None:
        """Though its answer asks for another proof."""

        def judge(given: Reply) -> AdapterError | None:
            return given.error(ErrorKind.NEEDS_AUTHORISATION, "Ours.", happened=happened)

        async with vendor_server(Said({})) as server, bench(server, authorises=Renewing(), judge=judge) as one:
            assert (await one.failure(POST)).happened is happened
        assert len(server.asked) == 1

    async def test_a_refusal_of_another_kind_is_not_renewed(self) -> None:
        """Another token would be refused as well."""
        way = Renewing()
        async with vendor_server(Said({}, status=403)) as server, bench(server, authorises=way) as one:
            assert (await one.failure()).kind is ErrorKind.FORBIDDEN
        assert (len(server.asked), way.count) == (1, 0)


ALONE = Said({}, status=429, headers={"Retry-After": "600"})
LIMITS = [("", "", True), ("", "search", True), ("search", "search", True), ("search", "", False)]


async def wait_after(one: Bench, *, limit: str = "", ask: str = "") -> float | None:
    """How long the second call is told to wait without being asked; None when the vendor is asked."""
    with suppress(AdapterError):
        await one.ask(limit=limit)
    count = len(one.server.asked)
    outcomes = await asyncio.gather(one.ask(limit=ask), return_exceptions=True)
    error = outcomes[0]
    if not isinstance(error, AdapterError) or len(one.server.asked) > count:
        return None
    assert (error.kind, error.happened) == (ErrorKind.RATE_LIMITED, Happened.NO)
    return error.retry_after_seconds


class TestPauses:
    """A vendor who wants to be left alone is."""

    @pytest.mark.parametrize(("limit", "ask", "waits"), LIMITS)
    async def test_a_limit_of_the_account_is_of_its_parts_too(self, limit: str, ask: str, waits: bool) -> None:
        """And one of a part is of that alone."""
        async with vendor_server(ALONE) as server, bench(server) as one:
            wait = await wait_after(one, limit=limit, ask=ask)
        assert (wait is not None) is waits
        assert wait is None or 590 < wait <= 600

    async def test_another_account_is_not_kept_waiting(self) -> None:
        """It has a limit of its own."""
        async with vendor_server(ALONE) as server, bench(server) as one:
            await one.failure()
            count = len(server.asked)
            await one.failure(account="acme/other")
        assert len(server.asked) > count

    async def test_what_headers_of_a_good_answer_say_holds_too(self) -> None:
        """The next call would be one too many."""

        def pauses(given: Reply, now: float) -> list[Pause]:
            assert now >= 1_767_225_600.0
            return [Pause(seconds=42.0)] if given.headers.get("X-Remaining") == "0" else []

        said = Said({"ok": 1}, headers={"X-Remaining": "0"})
        async with vendor_server(said) as server, bench(server, pauses=pauses) as one:
            assert (await one.ask()).value == {"ok": 1}
            assert (await one.failure()).retry_after_seconds == 42.0
        assert len(server.asked) == 1

    @pytest.mark.parametrize(
        ("seconds", "wait"), [(math.nan, None), (-5.0, None), (0.0, None), (math.inf, 86_400.0), (1e300, 86_400.0)]
    )
    async def test_no_vendor_is_left_alone_for_ever(self, seconds: float, wait: float | None) -> None:
        """Whatever it says: a day at most, and what is no number is none."""
        pauses = lambda *_said: [Pause(seconds=seconds)]  # noqa: E731
        async with vendor_server(Said({"ok": 1})) as server, bench(server, pauses=pauses) as one:
            assert await wait_after(one) == wait

    async def test_while_it_is_paused_nobody_asks_for_a_token_either(self) -> None:
        """The vendor is the same."""

        class Counting(Renewing):
            asked = 0

            async def headers(self, invocation: Invocation) -> Mapping[str, str]:
                self.asked += 1
                return await super().headers(invocation)

        way = Counting()
        async with vendor_server(ALONE) as server, bench(server, authorises=way) as one:
            await one.failure()
            await one.failure()
        assert way.asked == 1


class TestDeadline:
    """No call goes past it."""

    async def test_a_vendor_that_hangs(self) -> None:
        """Nobody knows what came of a write."""
        async with vendor_server(Said(hangs=True)) as server, bench(server) as one:
            read, write = await one.failure(seconds=0.1), await one.failure(POST, seconds=0.1)
        assert (read.kind, read.happened) == (ErrorKind.DEADLINE, Happened.NO)
        assert (write.kind, write.happened) == (ErrorKind.DEADLINE, Happened.UNKNOWN)

    async def test_one_that_is_over_already(self) -> None:
        """Nothing is sent."""
        async with vendor_server(Said({})) as server, bench(server) as one:
            error = await one.failure(POST, seconds=-1.0)
        assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.NO)
        assert not server.asked


async def test_an_adapter_checks_closes_and_tells_of_its_circuits() -> None:
    """Its own options beside the base URL."""
    async with open_transport() as transport:
        adapter = ApiAdapter(Vendor(base_url=OWN, authorises=Bearer()), parts(transport), options=("team",))
        good = Target(name="c", hosts=("api.vendor.example",), options={"team": "x"})
        assert adapter.check_target(good) == []
        assert len(adapter.check_target(Target(name="c", hosts=("api.vendor.example",), options={"z": 1}))) == 1
        assert adapter.open_circuits == 0
        await adapter.close()
        await adapter.close()


async def test_an_error_holds_nothing_of_what_was_sent_or_said() -> None:
    """A vendor may quote both."""

    def quoting(asked: Asked) -> Said:
        return Said({"message": f"{asked.headers} {asked.body!r}"}, status=400)

    call = Call(method="POST", path="/private-path", query={"q": "private-query"}, json={"t": "private-body"})
    async with vendor_server(quoting) as server, bench(server) as one:
        error = await one.failure(call)
    text = f"{error!r}{error.message}{error.__cause__!r}{error.__dict__}"
    assert not [part for part in ("private", CREDENTIAL) if part in text]
