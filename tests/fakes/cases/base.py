"""What the contract suites need to know of an operation to try it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from adapters.base import Target
from fakes.vendor import CREDENTIAL, Answer, Asked


def plain_target(_port: int) -> Target:
    """A connection that says nothing."""
    return Target(name="t")


def api_target(port: int) -> Target:
    """A connection to an API on loopback."""
    options = {"base_url": f"http://127.0.0.1:{port}"}
    return Target(name="t", account="acme/t", hosts=(f"127.0.0.1:{port}",), options=options)


@dataclass(frozen=True)
class Case:
    """One operation with good arguments, and the connection that leads it to a port on loopback."""

    adapter: str
    operation: str
    arguments: Callable[[int], dict[str, Any]]
    target: Callable[[int], Target] = plain_target
    connects: bool = True
    credential: str = field(default=CREDENTIAL, repr=False)

    @property
    def name(self) -> str:
        """As tests call it."""
        return f"{self.adapter}.{self.operation}"


def by_method(asked: Asked) -> bool:
    """What is no GET may change something."""
    return asked.method not in ("GET", "HEAD")


def nothing(_asked: Asked) -> bool:
    """Of an operation that only reads, whatever its methods are."""
    return False


@dataclass(frozen=True)
class ApiCase(Case):
    """One of a vendor whose API speaks JSON over HTTP. `answer` is what a vendor says to it who is well."""

    target: Callable[[int], Target] = api_target
    answer: Answer = field(kw_only=True)
    changes: Callable[[Asked], bool] = field(default=by_method, kw_only=True)
    """Whether a request of this operation may change something at the vendor."""


def api(adapter: str, operation: str, arguments: dict[str, Any], answer: Answer, **more: Any) -> ApiCase:
    """A case whose arguments are the same wherever the vendor is."""
    return ApiCase(adapter, operation, lambda _port: arguments, answer=answer, **more)
