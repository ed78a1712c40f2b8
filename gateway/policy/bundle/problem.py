"""How everything that is wrong with a bundle is told."""

from gateway.policy.base import PolicyProblem, PolicyUnusable

BUNDLE = "bundle"
"""What problems name when no single file in a bundle is at fault."""


def unusable(rule: str, message: str, *, file: str = BUNDLE) -> PolicyUnusable:
    """What is raised for a bundle that may not be used."""
    return PolicyUnusable(PolicyProblem(file=file, rule=rule, message=message))
