"""What `make vendors` counts."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from fakes.made import MakingAdapter
from vendors.proofs import Outcome, Proofs, demanded, operations_of, unknown

from adapters.base import Adapter, Invocation, Operation, Output, SideEffect, Target


class _Get(TypedDict):
    name: str


class _List(TypedDict):
    cursor: NotRequired[str]


async def _nothing(_: Invocation) -> Output:
    return Output()


def _operation(name: str, arguments: type) -> Operation:
    return Operation(
        name=name, arguments=arguments, side_effect=SideEffect.READ, prepare=lambda given: given, invoke=_nothing
    )


class _Vendor:
    """One that gets and lists."""

    name = "acme"
    operations: Mapping[str, Operation] = {"get": _operation("get", _Get), "list": _operation("list", _List)}
    open_circuits = 0

    def check_target(self, target: Target) -> list[str]:
        """Nothing is wrong."""
        return []

    async def close(self) -> None:
        """Nothing to let go of."""


ADAPTERS: dict[str, Adapter] = {"acme": _Vendor()}
ALL = [("get", "success"), ("get", "failure"), ("list", "success"), ("list", "failure"), ("list", "paging")]


def _proofs(*proved: tuple[str, str], server: str = "emulate 0.11.2") -> Proofs:
    proofs = Proofs()
    for operation, what in proved:
        proofs.checks["acme", operation, what].append(Outcome(True, (server,) if server else ()))
    return proofs


def _entry(proofs: Proofs) -> dict[str, Any]:
    entry = proofs.summary(ADAPTERS)["vendors"]["acme"]
    assert isinstance(entry, dict)
    return entry


def test_what_pages_has_to_prove_that_it_does() -> None:
    """Beside success and failure, which every operation owes."""
    assert demanded("acme", operations_of(ADAPTERS["acme"])) == [("acme", *check) for check in ALL]


def test_everything_proved_is_everything_passed() -> None:
    """Against the one server that it was proved against."""
    expected = {"operations": 2, "passed": 5, "failed": 0, "server": "emulate 0.11.2", "description": "none"}
    assert _entry(_proofs(*ALL)) == expected


def test_a_proof_that_is_not_there_has_failed() -> None:
    """Fewer checks than operations demand are seen."""
    entry = _entry(_proofs(*ALL[:-1]))
    assert (entry["passed"], entry["failed"]) == (4, 1)
    nothing = _entry(Proofs())
    assert (nothing["passed"], nothing["failed"], nothing["server"]) == (0, 5, "none")


def test_one_proof_that_failed_outweighs_those_that_passed() -> None:
    """Of the same check."""
    proofs = _proofs(*ALL)
    proofs.checks["acme", "get", "success"].append(Outcome(False))
    assert proofs.open_checks("acme", operations_of(ADAPTERS["acme"])) == [("acme", "get", "success")]


def test_what_only_a_server_of_ours_proved_is_named() -> None:
    """Also when all of it is."""
    proofs = _proofs(*ALL[:2])
    proofs.checks |= _proofs(*ALL[2:], server="").checks
    assert _entry(proofs)["server"] == "emulate 0.11.2 (own: list)"
    assert _entry(_proofs(*ALL, server=""))["server"] == "own"


def test_a_request_that_does_not_fit_its_description_is_told() -> None:
    """And so is what the description lacks."""
    proofs = _proofs(*ALL)
    proofs.descriptions["acme", "acme.json 1"] = {"get": True, "list": True}
    assert _entry(proofs)["description"] == "acme.json 1"
    proofs.descriptions["acme", "acme.json 1"] = {"get": False}
    assert _entry(proofs)["description"] == "acme.json 1 (does not fit: get) (own: list)"


def test_rows_are_counted() -> None:
    """How many there are and how many are right."""
    proofs = Proofs(rows=[True, False, True])
    summary = proofs.summary({})
    assert (summary["table_rows"], summary["table_right"]) == (3, 2)


def test_a_misspelled_proof_is_found() -> None:
    """It would else prove nothing, and nobody would see."""
    checks = [("acme", "get", "success"), ("acme", "get", "paging"), ("acme", "gte", "success"), ("acne", "get", "x")]
    assert unknown(checks, ADAPTERS) == checks[1:]


def test_an_adapter_whose_operations_rows_make_is_proved_by_its_recipes() -> None:
    """Each succeeds once and fails once."""
    made = operations_of(MakingAdapter())
    assert demanded("making", made) == [("making", "say", "success"), ("making", "say", "failure")]
