"""A process in the photographer's place: it does what the path of the URL says, and needs no browser."""

import base64
import json
import os
import socket
import struct
import sys
import time

LENGTH = struct.Struct(">I")
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"


def _frame(data: bytes) -> bytes:
    return LENGTH.pack(len(data)) + data


def _through_proxy(wanted: dict, url: str) -> str:
    """The status that the proxy answers, as the browser would see it."""
    proof = base64.b64encode(f"{wanted['proxy_user']}:{wanted['proxy_password']}".encode()).decode()
    with socket.create_connection(("127.0.0.1", wanted["proxy_port"])) as proxy:
        proxy.sendall(f"GET {url} HTTP/1.1\r\nProxy-Authorization: Basic {proof}\r\n\r\n".encode())
        return proxy.makefile("rb").readline().decode().split(" ")[1]


def _answer(wanted: dict) -> tuple[dict, bytes]:
    told = {"url": wanted["url"], "status": 200, "title": "A page", "is_loaded": True}
    what, _, rest = wanted["url"].partition("/say/")[2].partition("/")
    inside = f"http://127.0.0.1:{rest}/"
    if what == "page":
        told["title"] = _through_proxy(wanted, wanted["url"].replace("/say/page", ""))
    elif what in ("inside", "lands"):
        told["title"] = _through_proxy(wanted, inside)
    changes = {
        "failed": {"failed": rest},
        "inside": {"failed": "ERR_HTTP_RESPONSE_CODE_FAILURE"},
        "lands": {"url": inside},
        "seen": {"title": json.dumps({"wanted": wanted, "environment": dict(os.environ)})},
        "away": {"url": "chrome-error://chromewebdata/"},
        "halves": {"title": "a\ud800b"},
        "odd": {"status": "x", "title": None, "is_loaded": 1},
    }
    pictures = {"failed": b"", "inside": b"", "nothing": b"no picture", "large": PNG + b"x" * 3_000_000}
    return told | changes.get(what, {}), pictures.get(what, PNG)


def main() -> None:
    """Answer one frame, or not."""
    wanted = json.loads(sys.stdin.buffer.read(LENGTH.unpack(sys.stdin.buffer.read(4))[0]))
    if "/say/hang" in wanted["url"]:
        with open(f"{os.environ['HOME']}/hanging", "w") as file:  # noqa: PTH123
            file.write(str(os.getpid()))
        os.rename(f"{os.environ['HOME']}/hanging", sys.argv[1])  # noqa: PTH104
        time.sleep(60)  # noqa: TID251 - the test ends it
    if "/say/die" in wanted["url"]:
        os._exit(1)
    if "/say/rubbish" in wanted["url"]:
        sys.stdout.buffer.write(_frame(b"{"))
        return
    if "/say/list" in wanted["url"]:
        sys.stdout.buffer.write(_frame(b"[5]") + _frame(PNG))
        return
    told, picture = _answer(wanted)
    sys.stdout.buffer.write(_frame(json.dumps(told).encode()) + _frame(picture))


if __name__ == "__main__":
    main()
