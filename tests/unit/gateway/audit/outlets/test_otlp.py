"""What is sent to a collector, and what its answers mean."""

import base64

import orjson
import pytest
from fakes.collector import collector
from fakes.lines import line

from gateway.audit.chain import Chains, Sealing, unseal
from gateway.audit.lines import encode_line
from gateway.audit.outlets.base import OutletDown
from gateway.audit.outlets.otlp import OtlpOutlet, encode
from gateway.audit.reading import Written
from gateway.clients.http import HttpClient


def _lines(count: int = 2) -> list[Written]:
    sealing = Sealing(Chains.begun("w1", 0))
    raw = [sealing.line(encode_line(line(f"c{number}")), "acme") for number in range(count)]
    return [Written(number, one) for number, one in enumerate(raw, 1)]


def test_a_record_holds_the_line_as_it_was_written() -> None:
    """Under the time at which the call began, with what people search for in its attributes."""
    lines = _lines()
    (resource,) = orjson.loads(encode(lines))["resourceLogs"]
    names = {one["key"]: one["value"]["stringValue"] for one in resource["resource"]["attributes"]}
    assert names == {"service.name": "tollhouse", "service.instance.id": "w1"}
    (scope,) = resource["scopeLogs"]
    assert scope["scope"]["name"] == "tollhouse.audit"
    first, second = scope["logRecords"]
    assert unseal(first["body"]["stringValue"].encode() + b"\n")[0]["call_id"] == "c0"
    assert first["timeUnixNano"] == "1767225600000000000"
    attributes = {one["key"]: one["value"] for one in second["attributes"]}
    assert attributes["tollhouse.tenant"] == {"stringValue": "acme"}
    assert attributes["tollhouse.seq"] == {"intValue": "2"}
    assert "tollhouse.reason" not in attributes


def test_a_time_that_is_none_is_unknown() -> None:
    """A line is sent whatever is in it."""
    sealing = Sealing(Chains.begun("w1", 0))
    raw = sealing.line(encode_line(line("c1", time="yesterday")), "acme")
    (resource,) = orjson.loads(encode([Written(1, raw)]))["resourceLogs"]
    assert resource["scopeLogs"][0]["logRecords"][0]["timeUnixNano"] == "0"


@pytest.mark.parametrize("status", [301, 401, 404, 429, 500, 503])
async def test_a_status_that_may_change_is_an_outage(status: int) -> None:
    """The same lines are sent again."""
    async with collector() as made:
        made.status = status
        outlet = OtlpOutlet(HttpClient(), made.url)
        with pytest.raises(OutletDown, match=f"status {status}"):
            await outlet.deliver(_lines())
        assert outlet.rejected == 0
        await outlet.close()


@pytest.mark.parametrize("status", [400, 413])
async def test_a_status_that_will_not_change_is_counted(status: int) -> None:
    """The protocol forbids to send the same again, and those that come after must not wait for it."""
    async with collector() as made:
        made.status = status
        outlet = OtlpOutlet(HttpClient(), made.url)
        await outlet.deliver(_lines())
        assert outlet.rejected == 2
        await outlet.close()


@pytest.mark.parametrize(
    ("answer", "rejected"),
    [
        (b"", 0),
        (b"{}", 0),
        (b'{"partialSuccess":{}}', 0),
        (b'{"partialSuccess":{"rejectedLogRecords":"2"}}', 2),
        (b'{"partialSuccess":7}', 0),
        (b"[]", 0),
        (b"nonsense", 0),
    ],
)
async def test_what_a_collector_threw_away_is_counted(answer: bytes, rejected: int) -> None:
    """As it says itself; any other answer with a good status is a good one."""
    async with collector() as made:
        made.answer = answer
        outlet = OtlpOutlet(HttpClient(), made.url)
        await outlet.deliver(_lines())
        assert outlet.rejected == rejected
        await outlet.close()


async def test_a_token_is_sent_and_never_told() -> None:
    """As a bearer token; the collector's refusal does not repeat it."""
    token = base64.b64encode(b"secret").decode()
    async with collector() as made:
        made.status = 403
        outlet = OtlpOutlet(HttpClient(token=lambda: token), made.url)
        with pytest.raises(OutletDown) as caught:
            await outlet.deliver(_lines())
        assert made.headers[0]["Authorization"] == f"Bearer {token}"
        assert made.headers[0]["Content-Type"] == "application/json"
        assert token not in str(caught.value)
        await outlet.close()
