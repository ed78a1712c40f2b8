"""Building principals."""

import orjson
from fakes.principals import principal


def test_policy_sees_what_the_principal_is():
    """The fragment holds every field, sets as sorted lists."""
    someone = principal(scopes=frozenset({"b", "a"}), claims={"team": "ops"})
    assert orjson.loads(someone.policy_json) == {
        "tenant": "acme",
        "id": "helper-1",
        "kind": "agent",
        "agent": "helper",
        "scopes": ["a", "b"],
        "roles": ["assistant"],
        "claims": {"team": "ops"},
        "proof": "socket",
    }
