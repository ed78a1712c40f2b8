"""Who is asked when policy wants a person to approve and does not say whom, and who may look."""

from typing import Annotated

from pydantic import Field

from gateway.settings.part import Part

Role = Annotated[str, Field(min_length=1, max_length=128)]


class ApprovalSettings(Part):
    """What holds for approvals where policy says nothing else."""

    default_roles: tuple[Role, ...] = Field(default=("approver",), min_length=1, max_length=16)
    """One person with one of these roles approves a call for which policy names no terms."""
    default_expires_seconds: int = Field(default=24 * 3600, ge=1, le=30 * 24 * 3600)
    """How long such a question stands."""
    most_open_per_agent: int = Field(default=20, ge=1, le=10_000)
    """Questions of one agent that may be open at once; its calls are refused beyond that."""
    viewer_roles: tuple[Role, ...] = ()
    """Whoever holds one of these may look at every approval of the tenant, also a program. To decide takes a person
    with a role that the question asks for, and these may look at it too.
    """
    tell_reasons: bool = True
    """Whether the agent is told what a person said when denying. It is never told who that was."""
    keep_seconds: float = Field(default=24 * 3600.0, ge=60)
    """How long the result of a call that was approved is kept, sealed, for whoever asks for it."""
    keep_read_seconds: float = Field(default=3600.0, ge=60)
    """The same of a read."""
