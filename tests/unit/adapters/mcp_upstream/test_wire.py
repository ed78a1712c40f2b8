"""What both wires are, as seen by a conversation."""

from dataclasses import replace

import pytest

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.mcp_upstream.http import HttpWire
from adapters.mcp_upstream.stdio import StdioWire
from adapters.mcp_upstream.wire import Asking, Wire


@pytest.mark.parametrize("wire", [HttpWire, StdioWire])
def test_a_wire_has_all_that_a_conversation_needs(wire: type) -> None:
    """Every method of the contract; and whether letting go of a request ends it is told apart."""
    wanted = {name for name in vars(Wire) if not name.startswith("_")} - {"is_open"}
    assert wanted <= set(dir(wire))
    assert wire.is_request_scoped is (wire is HttpWire)  # type: ignore[attr-defined]


def test_what_is_asked_is_never_printed() -> None:
    """It holds arguments, and headers of them."""
    asking = Asking(id=1, method="tools/call", body=b"sesame", deadline=1.0, headers={"Mcp-Param-X": "sesame"})
    assert "sesame" not in repr(asking)


def test_what_is_not_meant_any_more_is_not_sent() -> None:
    """What answers is not what was looked at."""
    asking = Asking(id=1, method="tools/call", body=b"", deadline=1.0)
    asking.check()
    with pytest.raises(AdapterError) as caught:
        replace(asking, is_meant=lambda: False).check()
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
