"""One gateway per state directory: two would each believe the journal and the chain to be its own."""

import fcntl
import os
from pathlib import Path

from gateway.errors import StartError


class StateLock:
    """Held from construction to `release`, or until the process ends, however it ends."""

    def __init__(self, state_dir: Path) -> None:
        path = state_dir / "lock"
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise StartError(
                f"another gateway uses {state_dir}; stop it, or give this one a state_dir of its own"
            ) from error

    def release(self) -> None:
        """Let the next one in. Calling it twice is harmless."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
