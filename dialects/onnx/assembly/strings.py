"""Print string literals as MLIR."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[ !#-\[\]-~]*")


def quoted(text: str | bytes) -> str:
    """Return `text` in quotes; other bytes than printable ASCII as two upper-case hexadecimal digits."""
    if isinstance(text, str) and _PLAIN.fullmatch(text):
        return f'"{text}"'
    data = text.encode() if isinstance(text, str) else text
    return f'"{"".join(map(_escaped, data))}"'


def _escaped(byte: int) -> str:
    if byte == 0x5C:
        return "\\\\"
    return chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x22 else f"\\{byte:02X}"
