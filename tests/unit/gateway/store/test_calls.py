"""What of a call's row is shown, and where it is sealed. What the rows do is in tests/contract/test_calls.py."""

from fakes.calls import opened_call

from gateway.store.calls import place_of


def test_nothing_private_is_shown() -> None:
    """Neither key nor principal nor arguments."""
    shown = repr(opened_call(key="the-key", principal=b"the-principal", arguments=b"the-arguments"))
    assert "the-" not in shown
    assert "c1" in shown


def test_each_call_is_sealed_at_a_place_of_its_own() -> None:
    """What is sealed for one does not open as another's."""
    assert place_of("c1") == "call:c1"
