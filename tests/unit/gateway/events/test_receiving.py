"""Deliveries: what is signed is kept once, and nobody learns anything from what is not."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.clock import START
from fakes.events import SECRET, Post, catalogue_of, event_body, headers_of, post_over, subscriber, tracker
from real.stores import locked, sqlite_settings

from adapters.base import Secret
from adapters.webhooks import Delivery, Event, Fault
from gateway.errors import Reason, Refusal
from gateway.events.receiving import THREAD_BYTES, Reply
from gateway.metrics.events import Received
from gateway.settings.events import EventSettings
from gateway.settings.limits import RateSettings

BODY = event_body()


@pytest.fixture
async def post(tmp_path: Path) -> AsyncIterator[Post]:
    """A tenant with one connection that takes deliveries."""
    settings = EventSettings(address="unix:e", rate=RateSettings(per_minute=60, burst=3))
    async with post_over(await sqlite_settings(tmp_path), settings=settings) as one:
        yield one


async def _reply(post: Post, body: bytes = BODY) -> Reply:
    delivery = Delivery(headers=headers_of(body), body=body, received_at=START)
    return await post.receiver.receive("acme", "tracker", delivery, "")


async def _kept(post: Post) -> int:
    return (await post.kept.head("acme")).number


async def test_a_signed_delivery_is_kept(post: Post) -> None:
    """As one event of its connection; the secret is forgotten."""
    assert await post.deliver(BODY) is Received.KEPT
    ((_, event),) = (await post.kept.read("acme", [1])).events
    assert (event.id, event.connection, event.vendor, event.kind) == ("v1", "tracker", "tracker", "issue.opened")
    assert (event.subject, event.occurred_at, event.received_at) == ("acme/shop#12", START - 1, START)
    assert orjson.loads(event.data_json) == {"title": "It is broken"}
    assert post.webhooks.revealed == [SECRET]
    assert post.lines == []


async def test_a_repetition_is_answered_well_and_kept_once(post: Post) -> None:
    """The very same bytes, or signed anew."""
    results = [
        await post.deliver(BODY),
        await post.deliver(BODY),
        await post.deliver(BODY, headers_of(BODY, at=START + 1)),
    ]
    assert results == [Received.KEPT, Received.REPEATED, Received.REPEATED]
    assert await _kept(post) == 1


@pytest.mark.parametrize(
    ("headers", "result"),
    [
        ({}, Received.UNSIGNED),
        (headers_of(BODY, secret="guessed"), Received.FORGED),
        (headers_of(event_body("v2")), Received.FORGED),
        (headers_of(BODY, at=START - 301), Received.STALE),
        (headers_of(BODY, at=START + 301), Received.STALE),
    ],
)
async def test_what_is_not_proved_is_not_kept(post: Post, headers: dict[str, str], result: Received) -> None:
    """The log says which it was, and nothing of body or headers."""
    assert await post.deliver(BODY, headers) is result
    assert await _kept(post) == 0
    (line,) = post.lines
    assert (line["event"], line["fault"]) == ("delivery_refused", result.value)
    assert (line["tenant"], line["connection"]) == ("acme", "tracker")
    assert not [word for word in ("broken", "x-signature", SECRET, "guessed") if word in post.stream.getvalue()]


async def test_nowhere_is_no_place_and_costs_as_much(post: Post) -> None:
    """A connection that is not there, one that takes nothing, another tenant's: the work is done, and thrown away."""
    post.catalogue = catalogue_of([subscriber("*")], [tracker(), tracker(name="silent", webhook_secret="")])
    for to in ("acme/none", "acme/silent", "rival/tracker", "/"):
        before = (post.webhooks.received, len(post.source.asked))
        assert await post.deliver(BODY, to=to) is Received.UNKNOWN
        assert (post.webhooks.received, len(post.source.asked)) == (before[0] + 1, before[1] + 1)
    assert await _kept(post) == 0
    assert {line["fault"] for line in post.lines} == {"unknown"}
    assert not {"tenant", "connection"} & post.lines[0].keys()


async def test_where_nobody_takes_anything_nothing_is_taken(post: Post) -> None:
    """A gateway without a webhook."""
    post.catalogue = catalogue_of([subscriber("*")], [])
    assert await post.deliver(BODY) is Received.UNKNOWN


async def test_strangers_take_no_room_of_a_vendor(post: Post) -> None:
    """Else anybody could keep it out, and would learn from what is left how much it delivers."""
    for _ in range(20):
        assert await post.deliver(BODY, {}) is Received.UNSIGNED
    results = [await post.deliver(event_body(f"v{number}")) for number in range(4)]
    assert results == [*[Received.KEPT] * 3, Received.RATE]
    assert await post.deliver(BODY, {}) is Received.UNSIGNED


@pytest.mark.parametrize("reason", [Reason.CREDENTIAL_UNAVAILABLE, Reason.INTERNAL])
async def test_a_vault_that_is_down_is_asked_again(post: Post, reason: Reason) -> None:
    """Nothing is proved meanwhile, and nobody is told why."""
    post.source.failure = Refusal(reason, "It cannot be read now.")
    reply = await _reply(post)
    assert (reply.result, reply.is_proved) == (Received.UNAVAILABLE, False)
    assert await post.deliver(BODY, to="acme/none") is Received.UNKNOWN
    assert await _kept(post) == 0
    post.source.failure = None
    assert await post.deliver(BODY) is Received.KEPT


async def test_a_vault_that_hangs_is_not_waited_for(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a few seconds."""
    monkeypatch.setattr("gateway.events.receiving.LEND_SECONDS", 0.01)

    async def hang(tenant: str, name: str) -> Secret:
        await asyncio.Event().wait()
        raise AssertionError(f"{tenant}/{name} does not end")

    post.source.resolve = hang  # type: ignore[method-assign]
    assert await post.deliver(BODY) is Received.UNAVAILABLE
    assert await post.deliver(BODY, to="acme/none") is Received.UNKNOWN


async def test_a_secret_that_is_not_there_is_no_door(post: Post) -> None:
    """Nor one that the settings do not grant to the tenant; whoever operates this is told."""
    post.source.values.clear()
    assert await post.deliver(BODY) is Received.UNVERIFIABLE
    post.catalogue = catalogue_of((), [tracker(webhook_secret="file:/etc/passwd")])
    assert await post.deliver(BODY) is Received.UNVERIFIABLE
    told = [line["reason"] for line in post.lines if line["event"] == "webhook_secret_unusable"]
    assert told == ["credential_missing", "credential_not_allowed"]


async def test_while_a_secret_is_changed_both_are_good(post: Post) -> None:
    """Each has a line of its own."""
    post.source.values["TRACKER"] = f"the-new-secret\n\n  {SECRET}  \n"
    assert await post.deliver(BODY) is Received.KEPT
    assert await post.deliver(BODY, headers_of(BODY, secret="the-new-secret")) is Received.REPEATED
    assert await post.deliver(BODY, headers_of(BODY, secret="")) is Received.FORGED
    assert set(post.webhooks.revealed) == {SECRET, "the-new-secret"}


@pytest.mark.parametrize("secret", ["short12", "   \n  a\nb \n"])
async def test_a_secret_that_anybody_could_guess_is_none(post: Post, secret: str) -> None:
    """Nothing is read under it."""
    post.source.values["TRACKER"] = secret
    assert await post.deliver(BODY, headers_of(BODY, secret=secret.strip())) is Received.UNVERIFIABLE
    assert post.webhooks.received == 0


async def test_secrets_are_forgotten_whatever_becomes_of_the_delivery(post: Post) -> None:
    """Also when it was refused, or the webhooks failed."""
    given: list[Secret] = []
    receive = post.webhooks.receive

    def kept(delivery: Delivery, secrets: Sequence[Secret]) -> Any:
        given.extend(secrets)
        return receive(delivery, secrets)

    post.webhooks.receive = kept  # type: ignore[method-assign]
    await post.deliver(BODY)
    await post.deliver(BODY, {})
    post.webhooks.failure = RuntimeError()
    await post.deliver(BODY)
    assert [secret.reveal() for secret in given] == [""] * 3


async def test_what_cannot_be_kept_is_delivered_again(post: Post) -> None:
    """The store or the seal is down: nothing is answered well, and the repetition is one event. Its vendor is told."""
    with locked(post.database.settings.path):
        reply = await _reply(post)
    assert (reply.result, reply.is_proved) == (Received.UNAVAILABLE, True)
    post.seal.is_broken = True
    assert await post.deliver(BODY) is Received.UNAVAILABLE
    post.seal.is_broken = False
    assert await _kept(post) == 0
    assert await post.deliver(BODY) is Received.KEPT


async def test_a_greeting_is_answered(post: Post) -> None:
    """When it is signed; it is no event."""
    body = orjson.dumps({"challenge": "3eZbrw1a"})
    delivery = Delivery(headers=headers_of(body), body=body, received_at=START)
    reply = await post.receiver.receive("acme", "tracker", delivery, "")
    assert reply.greeting is not None
    assert (reply.result, reply.greeting.body) == (Received.GREETED, b"3eZbrw1a")
    nowhere = await post.receiver.receive("acme", "none", delivery, "")
    assert (nowhere.result, nowhere.greeting) == (Received.UNKNOWN, None)
    assert await post.deliver(body, {}) is Received.UNSIGNED


async def test_what_there_is_no_kind_for_is_answered_well(post: Post) -> None:
    """Else its vendor would repeat it."""
    assert await post.deliver(b"{}") is Received.IGNORED
    assert await _kept(post) == 0


async def test_a_large_body_is_read_beside_the_loop(post: Post) -> None:
    """To the same end."""
    body = event_body(data={"title": "x" * THREAD_BYTES})
    assert await post.deliver(body) is Received.KEPT
    assert await post.deliver(body, {}) is Received.UNSIGNED


@pytest.mark.parametrize(
    "changes",
    [
        {"event_id": ""},
        {"event_id": "x" * 129},
        {"event_id": "a\nb"},
        {"event_id": "é"},
        {"kind": ""},
        {"kind": "Issue.Opened"},
        {"kind": "issue."},
        {"kind": "x" * 129},
        {"data": []},
        {"data": None},
    ],
)
async def test_an_event_that_is_none_is_not_kept(post: Post, changes: dict[str, object]) -> None:
    """An adapter that breaks its contract keeps nothing, and its sender learns nothing of it."""
    assert await post.deliver(event_body(**changes)) is Received.MALFORMED  # type: ignore[arg-type]
    assert await _kept(post) == 0


@pytest.mark.parametrize("at", [-1.0, 253402300800.0, float("1e300")])
async def test_a_time_that_is_none_is_left_out(post: Post, at: float) -> None:
    """The event is kept."""
    assert await post.deliver(event_body(occurred_at=at)) is Received.KEPT
    ((_, event),) = (await post.kept.read("acme", [1])).events
    assert event.occurred_at is None


async def test_data_that_is_no_json_is_not_kept(post: Post) -> None:
    """Nor does it raise."""

    def receive(*_: object) -> Event:
        return Event(id="v1", kind="a.b", occurred_at=None, subject="\ud800", data={"x": 2**80})

    post.webhooks.receive = receive  # type: ignore[assignment]
    assert await post.deliver(BODY) is Received.MALFORMED


async def test_webhooks_that_fail_are_logged_and_told_to_nobody(post: Post) -> None:
    """By the type of what they raise alone."""
    post.webhooks.failure = RuntimeError("whsec in a text")
    assert await post.deliver(BODY) is Received.FAILED
    assert post.lines[0]["error_type"] == "RuntimeError"
    assert "whsec" not in post.stream.getvalue()


async def test_so_many_deliveries_of_one_connection_are_taken(post: Post) -> None:
    """Whatever they are; the vendor is told when to come back. Those of another are counted for themselves."""
    post.catalogue = catalogue_of([subscriber("*")], [tracker(), tracker(name="other")])
    for body in (b"{}", orjson.dumps({"challenge": "3eZbrw1a"}), BODY):
        assert (await _reply(post, body)).is_proved
    reply = await _reply(post)
    assert (reply.result, reply.is_proved) == (Received.RATE, True)
    assert reply.wait_seconds >= 1.0
    assert await post.deliver(BODY, to="acme/other") is Received.KEPT


def test_every_fault_has_a_result() -> None:
    """Of the same name."""
    assert [Received(fault.value) for fault in Fault]
