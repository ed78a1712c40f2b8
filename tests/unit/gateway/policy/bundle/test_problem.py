"""How problems with a bundle are told."""

from gateway.policy.bundle.problem import unusable


def test_a_problem_names_the_bundle_unless_a_file_is_at_fault() -> None:
    """File, rule, sentence."""
    assert str(unusable("size", "is too large")) == "bundle: size: is too large"
    assert str(unusable("hash", "is wrong", file="a.rego")) == "a.rego: hash: is wrong"
