"""How outcomes that nobody knows are found out."""

import pytest
from pydantic import ValidationError

from gateway.settings.parts import ServerSettings
from gateway.settings.resolution import ResolutionSettings


def test_left_out_vendors_are_asked() -> None:
    """And what a vendor does not know counts as not done when no call can be on its way any more."""
    settings = ResolutionSettings()
    assert settings.enabled
    assert settings.not_done_after_seconds > ServerSettings().max_call_seconds


@pytest.mark.parametrize(
    "changes",
    [{"look_seconds": 0}, {"ask_seconds": 0}, {"concurrent": 0}, {"not_done_after_seconds": -1}, {"guess": True}],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, object]) -> None:
    """An unknown key as well."""
    with pytest.raises(ValidationError):
        ResolutionSettings.model_validate(changes)
