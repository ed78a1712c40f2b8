"""Settings of approvals."""

import pytest
from pydantic import ValidationError

from gateway.settings.approvals import ApprovalSettings


def test_one_approver_within_a_day_when_nothing_is_said() -> None:
    """And nobody looks who may not decide."""
    settings = ApprovalSettings()
    assert (settings.default_roles, settings.default_expires_seconds) == (("approver",), 86_400)
    assert (settings.most_open_per_agent, settings.viewer_roles) == (20, ())
    assert (settings.keep_seconds, settings.keep_read_seconds) == (86_400, 3600)


@pytest.mark.parametrize(
    "wrong",
    [
        {"default_roles": ()},
        {"default_roles": ("",)},
        {"default_expires_seconds": 0},
        {"most_open_per_agent": 0},
        {"viewer_roles": ("",)},
        {"keep_seconds": 1},
        {"everybody": True},
    ],
)
def test_settings_that_nobody_can_mean_are_refused(wrong: dict[str, object]) -> None:
    """A question that nobody can answer, or that nobody may ask."""
    with pytest.raises(ValidationError):
        ApprovalSettings.model_validate(wrong)
