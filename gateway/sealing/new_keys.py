"""Makes key files: whole, on stable storage, and for their owner alone."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from gateway.errors import StartError
from gateway.sealing.envelope import Chance, new_key
from gateway.sealing.key_lines import key_line, keys_in


def create_key_file(path: Path, chance: Chance = secrets.token_bytes) -> bool:
    """A file with one new key that its owner alone may read, on stable storage. False when there is one already: of
    several who try at the same time one succeeds, and never does anybody see half a file.

    Raises `StartError`.
    """
    new = _beside(path, chance)
    try:
        if path.exists():
            return False
        _write(new, key_line(new_key(chance)))
        os.link(new, path)
        _sync_folder(path.parent)
    except FileExistsError:
        return False
    except OSError as error:
        raise StartError(f"{path} cannot be written ({error.strerror}); let the gateway write there") from error
    finally:
        with suppress(OSError):
            new.unlink()
    return True


def add_key(path: Path, *, is_first: bool = True, chance: Chance = secrets.token_bytes) -> None:
    """One more key in the file: the first seals from then on, any other only opens. Raises `StartError`."""
    new = _beside(path, chance)
    try:
        content, status = path.read_bytes(), path.stat()
        if not keys_in(content):
            raise StartError(f"{path} holds something else than keys; nothing was changed")
        added, rest = key_line(new_key(chance)), content.decode().strip() + "\n"
        _write(new, added + rest if is_first else rest + added)
        os.chown(new, status.st_uid, status.st_gid)  # lest the gateway could not read what somebody else added
        os.chmod(new, status.st_mode & 0o777)  # noqa: PTH101 - beside chown
        os.replace(new, path)  # noqa: PTH105 - beside link
        _sync_folder(path.parent)
    except OSError as error:
        raise StartError(f"{path} cannot be changed ({error.strerror}); nothing was changed") from error
    finally:
        with suppress(OSError):
            new.unlink()


def _beside(path: Path, chance: Chance) -> Path:
    return path.with_name(f".{path.name}.{chance(8).hex()}")


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w") as file:  # noqa: PTH123 - it is open already
        file.write(text)
        file.flush()
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
