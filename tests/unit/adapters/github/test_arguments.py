"""What an agent sends."""

import typing

from adapters.github import arguments


def test_every_argument_is_of_plain_json() -> None:
    """Each operation's is a TypedDict with a sentence, and says what it needs."""
    given = [one for name, one in vars(arguments).items() if name.endswith("Arguments")]
    assert len(given) == 11
    assert all(typing.is_typeddict(one) and one.__doc__ and one.__required_keys__ for one in given)


def test_every_operation_but_a_search_is_in_one_repository() -> None:
    """Owner and name apart, under the same names everywhere, so that one rule of policy fits all."""
    inside = [one for name, one in vars(arguments).items() if name.endswith("Arguments")]
    places = [one for one in inside if one not in (arguments.SearchIssuesArguments, arguments.FileArguments)]
    assert all({"owner", "repository"} <= one.__required_keys__ for one in places)
