"""What is not proposed carries its reason."""

import pytest

from gateway.importing.reasons import Inexpressible, Skipped


@pytest.mark.parametrize("kind", [Inexpressible, Skipped])
def test_a_reason_is_kept(kind: type[Inexpressible] | type[Skipped]) -> None:
    """For whoever reads the proposal, and for a log."""
    found = kind("takes any value")
    assert found.reason == str(found) == "takes any value"


def test_one_is_never_taken_for_the_other() -> None:
    """What ends an operation must not be caught where a part is left out."""
    assert not issubclass(Skipped, Inexpressible)
    assert not issubclass(Inexpressible, Skipped)
