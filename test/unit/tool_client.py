"""
Ask the server of `tool_server.py` to run a tool, with the files of this process.

The scripts that the server puts in its folder start it: only what is imported quickly is imported here.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

ADDRESS = "server"
"""The name of the server's socket in the folder of its scripts."""


def main() -> int:
    """Run the tool that a script is named after, with its arguments; return the exit code."""
    script = Path(sys.argv[1])
    request = {"command": [script.name, *sys.argv[2:]], "cwd": os.getcwd(), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(script.parent / ADDRESS))
        socket.send_fds(connection, [b"\n"], [0, 1, 2])
        connection.sendall(json.dumps(request).encode() + b"\n")
        return int(connection.makefile().readline())


if __name__ == "__main__":
    sys.exit(main())
