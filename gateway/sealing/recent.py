"""What was used last, and no more of it than a bound allows."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Forgets what was not used for the longest time when there is too much. It does not print what it holds."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: K) -> V | None:
        """The value, if it is still held."""
        value = self._held.get(key)
        if value is not None:
            self._held.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Hold this too."""
        self._held[key] = value
        self._held.move_to_end(key)
        if len(self._held) > self._most:
            self._held.popitem(last=False)

    def drop(self, is_over: Callable[[V], bool]) -> None:
        """Forget each value that is over."""
        for key in [key for key, value in self._held.items() if is_over(value)]:
            del self._held[key]

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()
