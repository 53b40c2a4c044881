"""The door of the page: a token in the address, then a cookie; to change something, also a header.

The cookie and the header's word are derived from the token, so neither gives it away.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError
from bats.common.wire.keys import read_private_json, write_private

CSRF_HEADER: Final = "X-BaTS-Page"
_TOKEN: Final = re.compile(r"[\w-]{43}")
_LOOPBACK: Final = re.compile(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?", re.IGNORECASE)
_SAME: Final = ("same-origin", "none")  # what a browser says of our own page, and of a person


class Door:
    def __init__(self, token: str, port: int, *, loopback: bool) -> None:
        self.token = token
        self.cookie_name = f"bats_{port}"  # cookies do not tell ports apart
        self.cookie = self._derived("cookie")
        self.csrf = self._derived("page")
        self._loopback = loopback

    def knows_host(self, headers: Mapping[str, str]) -> bool:
        """Another site's name that leads to this computer is not us (DNS rebinding)."""
        return not self._loopback or _LOOPBACK.fullmatch(headers.get("Host", "")) is not None

    def is_token(self, given: str) -> bool:
        return _same(given, self.token)

    def admits(self, cookies: Mapping[str, str], headers: Mapping[str, str]) -> bool:
        """True for who shows the cookie, or the token itself as `Authorization: Bearer TOKEN`."""
        scheme, _, given = headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.is_token(given.strip())
        return _same(cookies.get(self.cookie_name, ""), self.cookie)

    def may_change(self, headers: Mapping[str, str]) -> bool:
        """Only our own page knows the word; other sites can neither read it nor send the header."""
        if headers.get("Sec-Fetch-Site", "none") not in _SAME:
            return False
        return _same(headers.get(CSRF_HEADER, ""), self.csrf)

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def keep_token(path: Path) -> str:
    """The token of this state folder, made at the first time; for its owner's eyes only."""
    try:
        token = str(read_private_json(path, "the web page's token").get("token", ""))
    except FileNotFoundError:
        token = secrets.token_urlsafe(32)
        write_private(path, json.dumps({"token": token}))
    if not _TOKEN.fullmatch(token):
        raise UsageError(f"{path} does not hold a token. Remove it to have a new one made.")
    return token


def _same(given: str, wanted: str) -> bool:
    """Headers hold bytes, and those that are no UTF-8 come as lone surrogates."""
    return hmac.compare_digest(given.encode(errors="backslashreplace"), wanted.encode())
