"""What is proved of the parcel service: against a server of ours, since there is no other."""

import pytest
from fakes.cases.parcels import answer
from fakes.vendor import Said, desk, vendor_server

from adapters.base import AdapterError, ErrorKind

NUMBER = "HM123456789"


@pytest.mark.proves("parcels", "get_parcel", "success")
async def test_a_parcel_is_read() -> None:
    """Without what an agent has no use for."""
    async with vendor_server(answer) as server, desk(server) as parcels:
        output = await parcels.ask("parcels", "get_parcel", {"number": "hm 123 456 789"})
    assert output.structured == {"number": NUMBER, "state": "moving", "place": "Basel", "expected": "2026-01-31"}


@pytest.mark.proves("parcels", "list_parcels", "success")
@pytest.mark.proves("parcels", "list_parcels", "paging")
async def test_a_list_goes_on_to_its_end() -> None:
    """By the cursor that came with the page before."""
    async with vendor_server(answer) as server, desk(server) as parcels:
        first = await parcels.ask("parcels", "list_parcels", {})
        second = await parcels.ask("parcels", "list_parcels", {"cursor": first.structured["next_cursor"]})
    assert [one.query.get("page") for one in server.asked] == [None, ["p2"]]
    assert second.structured["next_cursor"] is None


@pytest.mark.proves("parcels", "book_pickup", "success")
async def test_a_pickup_is_booked_by_our_own_key() -> None:
    """By which the vendor tells repetitions apart."""
    async with vendor_server(answer) as server, desk(server) as parcels:
        output = await parcels.ask("parcels", "book_pickup", {"number": NUMBER, "date": "2026-01-31"})
    assert output.structured["pickup"] == "pu_7"
    assert server.asked[0].headers["Idempotency-Key"] == "eff-1"


@pytest.mark.proves("parcels", "get_parcel", "failure")
@pytest.mark.proves("parcels", "list_parcels", "failure")
@pytest.mark.proves("parcels", "book_pickup", "failure")
@pytest.mark.parametrize("operation", ["get_parcel", "list_parcels", "book_pickup"])
async def test_a_key_that_has_expired_is_told(operation: str) -> None:
    """To the operator, whom the agent can ask."""
    arguments = {} if operation == "list_parcels" else {"number": NUMBER, "date": "2026-01-31"}
    async with vendor_server(Said({"fault": {"code": "KEY_EXPIRED"}}, status=403)) as server, desk(server) as parcels:
        with pytest.raises(AdapterError) as caught:
            await parcels.ask("parcels", operation, arguments)
    assert caught.value.kind is ErrorKind.NEEDS_AUTHORISATION
