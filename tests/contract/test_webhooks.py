"""What the webhooks of every vendor do."""

import copy
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.deliveries import HIDDEN, NOW, SECRET, VENDORS, Sample, Vendor, digest, secrets
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.webhooks import REPLAY_SECONDS, Delivery, DeliveryRefused, Event, Fault, Greeting


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every part of a payload."""
    for step, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, step)
        if isinstance(part, dict | list):
            yield from places(part, (*path, step))


EVERY = [
    pytest.param(vendor, sample, id=f"{vendor.name} {kind}")
    for vendor in VENDORS.values()
    for kind, sample in vendor.samples.items()
]
SHAPES = [
    pytest.param(vendor, sample, id=f"{vendor.name} {kind}")
    for vendor in VENDORS.values()
    for kind, sample in {
        str(sorted(map(str, places(one.payload)))): (kind, one) for kind, one in vendor.samples.items()
    }.values()
]
"""Of the samples that have the same parts, one."""
MOST_BYTES = 64 * 1024
SIGNED_HEADERS = {
    "slack": ("x-slack-signature", "x-slack-request-timestamp"),
    "github": ("x-hub-signature-256",),
    "stripe": ("stripe-signature",),
    "linear": ("linear-signature",),
    "sentry": ("sentry-hook-signature",),
}
UNSIGNED_NAMES = {
    "github": "x-github-delivery",
    "linear": "linear-delivery",
    "sentry": "request-id",
    "slack": "x-slack-retry-num",
    "stripe": "x-request-id",
}
OTHERS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    12.5,
    1e300,
    2**64 - 1,
    "",
    "x",
    "\0",
    " \u2028\u202e",
    "é" * 5_000,
    "\x01" * 9_000,
    [],
    [None, 1, "x", [], {}],
    {},
    {"id": {"id": []}, "name": 1, "x": "y"},
    [{"name": "\x01" * 900, "id": 7}] * 60,
)
"""Something of every type that JSON has, and too much of it."""


@pytest.fixture(params=list(VENDORS))
def vendor(request: pytest.FixtureRequest) -> Vendor:
    """Each vendor."""
    return VENDORS[request.param]


def any_sample(vendor: Vendor) -> Sample:
    """One of the vendor's."""
    return next(iter(vendor.samples.values()))


def received(vendor: Vendor, delivery: Delivery, *values: str) -> Event | Greeting | Fault | None:
    """What comes of a delivery."""
    try:
        return vendor.webhooks.receive(delivery, secrets(*values))
    except DeliveryRefused as refusal:
        return refusal.fault


def event_of(vendor: Vendor, delivery: Delivery) -> Event:
    """The event that comes of a delivery."""
    event = received(vendor, delivery)
    assert isinstance(event, Event), event
    return event


def check_event(vendor: Vendor, event: Event) -> str:
    """An event is as the contract says, whatever it was made of. Its JSON."""
    assert re.fullmatch(r"[\x21-\x7e]{1,128}", event.id)
    assert event.kind in vendor.webhooks.kinds
    assert event.occurred_at is None or (math.isfinite(event.occurred_at) and event.occurred_at >= 0)
    assert len(event.subject) <= 300
    assert event.subject.isascii()
    assert event.subject.isprintable()
    told = json.dumps([event.id, event.kind, event.occurred_at, event.subject, event.data], allow_nan=False)
    assert len(json.dumps(event.data, ensure_ascii=False).encode()) < MOST_BYTES
    return told


@pytest.mark.parametrize(("vendor", "sample"), EVERY)
def test_a_signed_delivery_is_an_event(vendor: Vendor, sample: Sample) -> None:
    """Its subject is what the tools take, its time is the vendor's, and no secret of the payload is in it."""
    event = event_of(vendor, vendor.delivery(sample))
    assert vendor.samples[event.kind] is sample
    assert event.subject == sample.subject
    assert HIDDEN not in check_event(vendor, event)
    assert event.occurred_at is None or abs(event.occurred_at - NOW) < 5


def test_every_kind_can_come(vendor: Vendor) -> None:
    """The list of kinds is in order, without repetitions, and has exactly those of the samples."""
    assert list(vendor.webhooks.kinds) == sorted(vendor.samples)
    assert all(re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*", kind) for kind in vendor.webhooks.kinds)


def test_every_kind_is_in_the_documentation(vendor: Vendor) -> None:
    """People choose there."""
    told = "".join(path.read_text() for path in (Path(__file__).parents[2] / "docs").glob("events*.md"))
    assert [kind for kind in vendor.webhooks.kinds if f"`{kind}`" not in told] == []


def test_a_delivery_without_its_signature_is_unsigned(vendor: Vendor) -> None:
    """Of a header that came twice there is none either."""
    delivery = vendor.delivery(any_sample(vendor))
    for name in SIGNED_HEADERS[vendor.name]:
        without = {key: value for key, value in delivery.headers.items() if key != name}
        again = Delivery(headers=without, body=delivery.body, received_at=NOW)
        assert received(vendor, again) is Fault.UNSIGNED


def spoiled(signature: str) -> Iterator[str]:
    """Signatures that are none."""
    hexadecimal = re.search(r"[0-9a-f]{64}", signature)
    assert hexadecimal is not None
    good = hexadecimal.group()
    others = (
        "",
        good[:-1],
        good + "0",
        good.upper(),
        "g" * 64,
        "\uff10" * 64,
        f" {good}",
        f"{good}\n",
        f"0x{good[2:]}",
    )
    yield from (signature.replace(good, other, 1) for other in others)
    yield from ("", "=", ",", "v1=", "sha1=" + good, "é" * 100_000, f"v9={good}")


def test_a_header_in_any_other_form_is_no_signature(vendor: Vendor) -> None:
    """Too short, too long, not hex, digits of another script, blanks around it, another scheme."""
    delivery = vendor.delivery(any_sample(vendor))
    name = SIGNED_HEADERS[vendor.name][0]
    for value in spoiled(delivery.headers[name]):
        other = Delivery(headers={**delivery.headers, name: value}, body=delivery.body, received_at=NOW)
        assert received(vendor, other) is Fault.UNSIGNED, value[:100]


def test_one_byte_more_is_forged(vendor: Vendor) -> None:
    """What is signed is exactly the raw body: a blank at its end changes nothing for JSON, and everything here."""
    delivery = vendor.delivery(any_sample(vendor))
    longer = Delivery(headers=delivery.headers, body=delivery.body + b" ", received_at=NOW)
    assert received(vendor, longer) is Fault.FORGED


def test_another_secret_is_forged(vendor: Vendor) -> None:
    """So it is when there is no secret at all."""
    delivery = vendor.delivery(any_sample(vendor), secret="another-secret")
    assert received(vendor, delivery) is Fault.FORGED
    with pytest.raises(DeliveryRefused, match=r"^forged$"):
        vendor.webhooks.receive(delivery, [])


@pytest.mark.parametrize("nothing", ["", " ", "\n"])
def test_an_empty_secret_verifies_nothing(vendor: Vendor, nothing: str) -> None:
    """Not even what was signed with it: everybody knows it."""
    delivery = vendor.delivery(any_sample(vendor), secret=nothing)
    assert received(vendor, delivery, nothing, SECRET) is Fault.FORGED


def test_any_of_several_secrets_is_good(vendor: Vendor) -> None:
    """While a secret is changed, the old one and the new one are."""
    old, new = (vendor.delivery(any_sample(vendor), secret=one) for one in ("the old one", "the new one"))
    assert isinstance(received(vendor, old, "the new one", "the old one"), Event)
    assert isinstance(received(vendor, new, "the new one", "the old one"), Event)
    assert received(vendor, old, "the new one") is Fault.FORGED


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"null", b'"x"', b"\xff\xfe", b'{"a": NaN}', b'{"a": 1e999}'])
def test_nothing_is_read_before_the_signature_is_good(vendor: Vendor, body: bytes) -> None:
    """A body that cannot be understood is forged as long as nobody has signed it, and malformed when somebody has."""
    sample = any_sample(vendor)
    assert received(vendor, vendor.raw(body, sample.headers, secret="another-secret")) is Fault.FORGED
    assert received(vendor, vendor.raw(body, sample.headers)) is Fault.MALFORMED


@pytest.mark.parametrize("depth", [200, 300, 1_000, 100_000])
def test_a_body_of_any_depth_is_no_trouble(vendor: Vendor, depth: int) -> None:
    """It is an event when it is not too deep to be read, and malformed otherwise."""
    sample = any_sample(vendor)
    stamped = vendor.stamped(sample.payload, NOW)
    body = json.dumps({**stamped, "deep": "HERE"}).replace('"HERE"', "[" * depth + "]" * depth).encode()
    answer = received(vendor, vendor.raw(body, sample.headers))
    assert isinstance(answer, Event) or answer is Fault.MALFORMED


def test_a_delivery_is_taken_within_the_window_alone(vendor: Vendor) -> None:
    """On both sides, where the vendor signs its time."""
    sample, window = any_sample(vendor), REPLAY_SECONDS
    for apart in (-window, window):
        assert isinstance(received(vendor, vendor.delivery(sample, at=NOW + apart)), Event)
    for apart in (-window - 1, window + 1, -NOW, 365 * 86_400):
        answer = received(vendor, vendor.delivery(sample, at=NOW + apart))
        assert answer is Fault.STALE if vendor.signs_time else isinstance(answer, Event)


@pytest.mark.parametrize("received_at", [math.nan, math.inf, -math.inf])
def test_a_clock_that_tells_nothing_lets_nothing_in(vendor: Vendor, received_at: float) -> None:
    """Where the vendor signs its time."""
    answer = received(vendor, vendor.delivery(any_sample(vendor), received_at=received_at))
    assert answer is Fault.STALE if vendor.signs_time else isinstance(answer, Event)


def test_a_repetition_has_the_id_of_the_first(vendor: Vendor) -> None:
    """When it is sent again later, and whatever a header says that nobody signed."""
    sample = any_sample(vendor)
    first = event_of(vendor, vendor.delivery(sample))
    again = vendor.delivery(sample, at=NOW + 60, received_at=NOW + 61)
    renamed = Delivery(
        headers={**again.headers, UNSIGNED_NAMES[vendor.name]: "another"}, body=again.body, received_at=NOW + 61
    )
    assert event_of(vendor, renamed).id == first.id


def test_what_is_of_no_kind_is_nothing(vendor: Vendor) -> None:
    """A signed delivery of which the vendor's list knows nothing."""
    sample = any_sample(vendor)
    other = copy.deepcopy(sample.payload)
    unknown = {"slack": ("event", "type"), "stripe": ("type",)}.get(vendor.name, ("action",))
    place = other
    for step in unknown[:-1]:
        place = place[step]
    place[unknown[-1]] = "something_new"
    delivery = vendor.delivery(Sample(payload=other, subject="", headers=sample.headers))
    assert received(vendor, delivery) is None


def mutants(payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The payload with each part in the form of every other, one after another, and without it."""
    for *way, last in list(places(payload)):
        place: Any = payload
        for step in way:
            place = place[step]
        kept = place[last]
        for other in OTHERS:
            place[last] = other
            yield payload
        if isinstance(place, dict):
            del place[last]
            yield payload
        place[last] = kept


@pytest.mark.parametrize(("vendor", "sample"), SHAPES)
def test_a_part_of_any_type_is_no_trouble(vendor: Vendor, sample: Sample) -> None:
    """Whatever stands in the place of what should be there: an event with the keys of its kind, none, or malformed."""
    usual = {kind: event_of(vendor, vendor.delivery(one)).data.keys() for kind, one in vendor.samples.items()}
    payload = vendor.stamped(copy.deepcopy(sample.payload), NOW)
    for mutant in mutants(payload):
        answer = received(vendor, vendor.raw(json.dumps(mutant).encode(), sample.headers))
        if isinstance(answer, Event):
            assert HIDDEN not in check_event(vendor, answer)
            assert answer.data.keys() == usual[answer.kind]
        else:
            assert answer is None or isinstance(answer, Greeting) or answer in (Fault.MALFORMED, Fault.STALE)


def inflated(value: Any) -> Any:
    """The value with every text long and every list full."""
    match value:
        case dict():
            return {name: inflated(one) for name, one in value.items()}
        case list():
            return [inflated(one) for one in value] * 500
        case str() if " " in value:
            return value + "\x01" * 5_000
    return value


@pytest.mark.parametrize(("vendor", "sample"), EVERY)
def test_an_event_is_small_however_much_comes(vendor: Vendor, sample: Sample) -> None:
    """Long texts and lists are cut, and it is said which."""
    much = Sample(payload=inflated(sample.payload), subject=sample.subject, headers=sample.headers)
    event = event_of(vendor, vendor.delivery(much))
    check_event(vendor, event)
    cut = {name for name, value in event.data.items() if "…" in json.dumps(value, ensure_ascii=False)}
    assert cut <= set(event.data["cut"])
    lists = [value for value in event.data.values() if isinstance(value, list)]
    assert all(len(value) <= 50 for value in lists)


@settings(max_examples=150, deadline=None)
@given(
    headers=st.dictionaries(
        st.sampled_from(
            sorted({*(name for names in SIGNED_HEADERS.values() for name in names), "x-github-event", "content-type"})
        ),
        st.text(max_size=200) | st.integers().map(lambda number: f"t={number},v1={'0' * 64}"),
    ),
    body=st.binary(max_size=200),
)
@pytest.mark.parametrize("name", list(VENDORS))
def test_no_header_is_any_trouble(name: str, headers: dict[str, str], body: bytes) -> None:
    """Whatever anybody sends without a signature is unsigned or forged."""
    delivery = Delivery(headers=headers, body=body, received_at=NOW)
    assert received(VENDORS[name], delivery) in (Fault.UNSIGNED, Fault.FORGED)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=10), part, max_size=4),
    max_leaves=15,
)


@settings(max_examples=150, deadline=None)
@given(body=JSON, kind=st.sampled_from(["issues", "push", "issue", "error", "comment", "metric_alert", "", "\udc80"]))
@pytest.mark.parametrize("name", list(VENDORS))
def test_no_signed_json_is_any_trouble(name: str, body: Any, kind: str) -> None:
    """Whatever the vendor itself sends comes to nothing worse than malformed."""
    headers = {"x-github-event": kind, "sentry-hook-resource": kind}
    answer = received(VENDORS[name], VENDORS[name].raw(json.dumps(body).encode(), headers))
    assert answer is None or answer is Fault.MALFORMED


def test_nothing_of_a_delivery_is_shown(vendor: Vendor) -> None:
    """Neither a delivery nor an event shows what is in it when it is printed, and a refusal says its fault alone."""
    delivery = vendor.delivery(any_sample(vendor))
    event = event_of(vendor, delivery)
    shown = repr(delivery) + repr(event)
    assert digest(SECRET, delivery.body) not in shown
    assert "body" not in shown
    assert "data" not in repr(event)
