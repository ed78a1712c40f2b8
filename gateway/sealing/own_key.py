"""A key file of the gateway's own, made when it first starts."""

import secrets
from collections.abc import Callable
from pathlib import Path

from gateway.sealing.key_file import KeyFileSeal
from gateway.sealing.new_keys import create_key_file


class OwnKeySeal(KeyFileSeal):
    """`Seal` by a file in the state directory. Whoever loses it loses what was sealed, and nothing else."""

    def __init__(
        self, path: Path, monotonic: Callable[[], float], chance: Callable[[int], bytes] = secrets.token_bytes
    ) -> None:
        super().__init__(path, monotonic, chance)
        self._own_path = path

    async def start(self) -> None:
        """Make the key when there is none. Raises `StartError`."""
        create_key_file(self._own_path)
        await super().start()
