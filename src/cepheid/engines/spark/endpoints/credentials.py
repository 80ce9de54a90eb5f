"""Addresses with credentials in them: `https://user:password@host/path`.

Credentials belong into a header. Left in an address they would reach name look-up, logs and messages.
"""

from __future__ import annotations

import re
from base64 import b64encode
from urllib.parse import unquote, urlsplit, urlunsplit


def without_credentials(text: str) -> str:
    """A text as it may be shown, be it an address or not quite one."""
    return re.sub(r"//[^/?#]*@", "//", text)


def taken_apart(url: str) -> tuple[str, str | None]:
    """An address without its credentials, and the header `Authorization` that they become."""
    split = urlsplit(url)
    login, mark, address = split.netloc.rpartition("@")
    if not mark:
        return url, None
    user, _, password = login.partition(":")
    pair = f"{unquote(user)}:{unquote(password)}"
    header = "Basic " + b64encode(pair.encode()).decode()
    return urlunsplit(split._replace(netloc=address)), header
