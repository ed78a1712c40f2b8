"""The command `tollhouse`, also as `python -m gateway`."""

import os
import sys


def main() -> None:
    """Run the command line of this process and exit with its code."""
    # gRPC's core would tell standard error of every failed handshake, not in JSON and as often as strangers like.
    # It looks this up when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # And it would hook every fork: children of a gateway, such as MCP servers, would at times end before they began.
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
    # OpenSSL's default contexts, which libraries make, would write the keys of every connection to this file.
    os.environ.pop("SSLKEYLOGFILE", None)
    try:
        from gateway.cli.root import run  # noqa: PLC0415 - an incomplete installation ends in a sentence, too
    except ImportError as error:
        sys.stderr.write(
            f"tollhouse: it is not completely installed ({error.name or 'a part'} is missing); reinstall it\n"
        )
        sys.exit(2)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
