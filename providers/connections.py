"""What a connection may be: an origin over TLS, methods, a path prefix, headers whose secrets are named and never written.

Source: contract of document and HTTP memory, section 2.4. Pure.
"""

import re
from dataclasses import dataclass
from typing import Any

from memoryhub.origins import find_path_problem, parse_origin
from providers.findings import Findings, Place
from providers.limits import HEADER_VALUE_BYTES_MAX, HEADERS_MAX

METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
SECRET_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,127}", re.ASCII)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)  # RFC 9110, section 5.6.2
_SENSITIVE = re.compile(r"token|secret|password|api[-_]?key|auth|^cookie$", re.IGNORECASE)
# The host sets these itself, or they would change how the request is framed.
_REFUSED_HEADERS = frozenset(
    [
        "host",
        "content-length",
        "content-type",
        "transfer-encoding",
        "connection",
        "accept-encoding",
        "expect",
        "te",
        "upgrade",
    ]
)


@dataclass(frozen=True, slots=True)
class HeaderValue:
    """`secret` None: `prefix` is the whole value, as it was written."""

    secret: str | None
    prefix: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Connection:
    id: str
    origin: str
    methods: tuple[str, ...]
    path_prefix: str | None
    headers: dict[str, HeaderValue]

    def admits_path(self, path: str) -> bool:
        """By segment: `/a` admits `/a` and `/a/x`, not `/ab`; `/a/` admits only what follows it."""
        prefix = self.path_prefix
        if prefix is None or path == prefix:
            return prefix is None or not prefix.endswith("/")
        return path.startswith(prefix if prefix.endswith("/") else f"{prefix}/")

    def secret_names(self) -> set[str]:
        return {value.secret for value in self.headers.values() if value.secret is not None}


def read_connection(value: Any, place: Place, id_: str, findings: Findings) -> Connection:
    keys = frozenset({"id", "origin", "methods", "pathPrefix", "headers"})
    given = findings.read_object(value, place, keys=keys)
    prefix = given.get("pathPrefix")
    if prefix is not None and (problem := find_path_problem(prefix)):
        findings.add(place / "pathPrefix", problem)
        prefix = None
    return Connection(
        id=id_,
        origin=_read_origin(given.get("origin"), place / "origin", findings),
        methods=_read_methods(given.get("methods"), place / "methods", findings),
        path_prefix=prefix,
        headers=_read_headers(given.get("headers", {}), place / "headers", findings),
    )


def _read_origin(value: Any, place: Place, findings: Findings) -> str:
    origin, problem = parse_origin(value, listed=findings.listed_origins)
    if problem:
        findings.add(place, problem)
    return origin


def _read_methods(value: Any, place: Place, findings: Findings) -> tuple[str, ...]:
    methods = findings.read_list(value, place, items_max=len(METHODS))
    for index, method in enumerate(methods):
        if method not in METHODS:
            findings.add(place / index, f"It must be one of {', '.join(METHODS)}.")
    if not methods and isinstance(value, list):
        findings.add(place, "It must name one method at least.")
    return tuple(sorted({method for method in methods if method in METHODS}))


def _read_headers(value: Any, place: Place, findings: Findings) -> dict[str, HeaderValue]:
    if not isinstance(value, dict):
        findings.add(place, "It must be an object: names of headers and their values.")
        return {}
    if len(value) > HEADERS_MAX:
        findings.add(place, f"It has {len(value)} headers; at most {HEADERS_MAX} are allowed.")
        return {}
    seen: set[str] = set()
    headers = {}
    for name, given in value.items():
        problem = _find_name_problem(name, seen)
        seen.add(name.lower())
        if problem:
            findings.add(place / name, problem)
        else:
            headers[name] = _read_header_value(name, given, place / name, findings)
    return headers


def _find_name_problem(name: str, seen: set[str]) -> str | None:
    if not _TOKEN.fullmatch(name) or len(name) > 128:
        return "This is not the name of a header."
    if name.lower() in _REFUSED_HEADERS:
        return "The hub sets this header itself."
    return "This header is named twice." if name.lower() in seen else None


def _read_header_value(name: str, given: Any, place: Place, findings: Findings) -> HeaderValue:
    if isinstance(given, str):
        if _SENSITIVE.search(name):
            findings.add(place, 'The value of this header must come from a secret: {"secret": "NAME"}.')
        _check_value(given, place, findings)
        return HeaderValue(None, given)
    parts = findings.read_object(given, place, keys=frozenset({"secret", "prefix", "suffix"}))
    secret = parts.get("secret")
    if not isinstance(secret, str) or not SECRET_NAME.fullmatch(secret):
        findings.add(
            place / "secret", "The name of a secret is A to Z, 0 to 9 and _, at most 128, a letter first."
        )
        secret = ""
    prefix, suffix = parts.get("prefix", ""), parts.get("suffix", "")
    for key, part in (("prefix", prefix), ("suffix", suffix)):
        _check_value(part, place / key, findings)
    return HeaderValue(secret, str(prefix), str(suffix))


def _check_value(value: Any, place: Place, findings: Findings) -> None:
    if (
        not isinstance(value, str)
        or not value.isascii()
        or any(ord(one) < 0x20 or ord(one) == 0x7F for one in value)
    ):
        findings.add(place, "It must be a string of printable ASCII.")
    elif len(value) > HEADER_VALUE_BYTES_MAX:
        findings.add(place, f"It has {len(value)} bytes; at most {HEADER_VALUE_BYTES_MAX} are allowed.")
