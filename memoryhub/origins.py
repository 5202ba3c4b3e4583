"""What an origin and a path of another service may be, where people name them. Pure.

Source: contract of document and HTTP memory, sections 2.4 and 14.1.
"""

import ipaddress
import re
from collections.abc import Container
from typing import Any
from urllib.parse import urlsplit

_HOST = re.compile(
    r"(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*",
    re.ASCII,
)
# RFC 3986's path without a query; what encodes a separator or stands alone is refused on its own.
_PATH = re.compile(r"/(?!/)[^?#\s\\]*")
_ENCODED_SEPARATOR = re.compile(r"%(?:2f|5c|2e|00)", re.IGNORECASE)
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def parse_origin(value: Any, *, listed: Container[str]) -> tuple[str, str | None]:
    """(the origin in lower case, with its port unless that is 443; what is wrong with it or None).

    `listed`: origins that may be whatever they are.
    """
    if not isinstance(value, str):
        return "", "It must be a string."
    if value in listed:
        return value, None
    try:
        parts = urlsplit(value)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode() if parts.hostname else ""
    except (ValueError, UnicodeError):
        return "", "It is not an origin: write https://host or https://host:port."
    if parts.scheme != "https":
        return "", "It must begin with https://."
    bare = f"https://{parts.netloc}"
    if value.lower() != bare.lower() or "@" in parts.netloc or parts.netloc.endswith(":"):
        return (
            "",
            "It must be https://host or https://host:port and nothing else: no path, user, query or fragment.",
        )
    if not _HOST.fullmatch(host) or host.endswith(".") or _is_address(host):
        return "", "Its host must be a name that DNS resolves, not an address."
    if port == 0:
        return "", "Its port must be from 1 to 65535."
    return f"https://{host}" + (f":{port}" if port not in (None, 443) else ""), None


def _is_address(host: str) -> bool:
    """Whether a host is an address in any spelling: resolvers also read `127.1`, `0x7f.1` and one number."""
    last = host.rsplit(".", 1)[-1]
    if re.fullmatch(r"\d+|0x[0-9a-f]*", last, re.ASCII):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def find_path_problem(path: Any) -> str | None:
    """The first rule that a path of an endpoint breaks, as a sentence."""
    if not isinstance(path, str):
        return "It must be a string."
    if not _PATH.fullmatch(path):
        return "It must begin with one / and hold no white space, backslash, query or fragment."
    if any(ord(character) < 0x21 or ord(character) == 0x7F for character in path) or not path.isascii():
        return "It must be ASCII without control characters; encode others with %."
    if _BARE_PERCENT.search(path) or _ENCODED_SEPARATOR.search(path):
        return "A % must begin an encoded byte, and that must not be a slash, backslash, dot or NUL."
    if {".", ".."} & set(path.split("/")):
        return "It must not have a segment . or .. in it."
    return None


URL_LENGTH_MAX = 2_048
_URL = re.compile(r"([A-Za-z]+://[^/?#\s\\]+)(/[^?#\s\\]*)?(\?[^#\s\\]*)?")


def split_url(url: Any, *, listed: Container[str]) -> tuple[str, str, str | None]:
    """(the origin, the path with its query, what is wrong with it or None). `listed`: as for `parse_origin`."""
    match = _URL.fullmatch(url) if isinstance(url, str) and len(url) <= URL_LENGTH_MAX else None
    if match is None:
        return "", "", f"Write https://host/path, at most {URL_LENGTH_MAX} characters, without a fragment."
    origin, problem = parse_origin(match[1], listed=listed)
    path, query = match[2] or "/", match[3] or ""
    problem = problem or find_path_problem(path) or _find_query_problem(query)
    return origin, path + query, problem


def _find_query_problem(query: str) -> str | None:
    if not query.isascii() or not query.isprintable():
        return "Its query must be ASCII without control characters; encode others with %."
    return "A % must begin an encoded byte." if _BARE_PERCENT.search(query) else None
