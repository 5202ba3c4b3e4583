"""The path grammar of the stores contract, section 3.4: pure functions over text and bytes.

Paths are compared as bytes and never rewritten: a path that is not in canonical form is refused.
"""

import unicodedata

from memoryhub.errors import InvalidRequest
from stores.limits import PATH_BYTES_MAX, PATH_SEGMENTS_MAX

# Files at the root by which a mount recognises itself; they can never be memories.
RESERVED_PATHS = frozenset({"/.anthropic-memory-store", "/.memoryhub-store"})
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp"})
_SLASH = b"/"
_AFTER_SLASH = b"0"  # the byte after "/": it closes the range of everything below a directory


def check_path(path: str) -> bytes:
    """The path's bytes. Raises: InvalidRequest with the rule that is broken."""
    problem = find_path_problem(path)
    if problem is not None:
        raise InvalidRequest(f"path: {problem}", error_code="memory_path_invalid")
    return path.encode()


def check_path_prefix(prefix: str) -> bytes:
    """The bytes of a `path_prefix`: `/`, or a path in canonical form and one final `/`. Raises: InvalidRequest.

    The reserved names are files; memories may lie below a directory of that name, so it is a prefix like any other.
    """
    if prefix == "/":
        return b"/"
    problem = "it must end with /" if not prefix.endswith("/") else _find_form_problem(prefix[:-1])
    if problem is not None:
        raise InvalidRequest(f"path_prefix: {problem}")
    return prefix.encode()


def find_path_problem(path: str) -> str | None:
    """The first rule that the path breaks, as half a sentence, or None."""
    return _find_form_problem(path) or (
        "this name is reserved for mounts" if path in RESERVED_PATHS else None
    )


def _find_form_problem(path: str) -> str | None:
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode text"
    if size > PATH_BYTES_MAX:
        return f"it has {size} bytes; at most {PATH_BYTES_MAX} are allowed"
    if not path.startswith("/") or path == "/":
        return "it must start with / and name a file"
    return _find_segment_problem(path.split("/")[1:]) or _find_character_problem(path)


def _find_segment_problem(segments: list[str]) -> str | None:
    if len(segments) > PATH_SEGMENTS_MAX:
        return f"it has {len(segments)} segments; at most {PATH_SEGMENTS_MAX} are allowed"
    if "" in segments:
        return "it has an empty segment (// or a / at the end)"
    if "." in segments or ".." in segments:
        return "it has a segment . or .."
    return None


def _find_character_problem(path: str) -> str | None:
    if not path.isascii() or not path.isprintable():
        if any(unicodedata.category(character) in _REFUSED_CATEGORIES for character in path):
            return "it holds a control, format or line separator character"
        if not unicodedata.is_normalized("NFC", path):
            return "it is not in Unicode normal form NFC"
    return None


def parent_keys(path_key: bytes) -> list[bytes]:
    """The proper ancestors of a path, outermost first: those of `/a/b/c` are `/a` and `/a/b`."""
    return [path_key[:index] for index in range(1, len(path_key)) if path_key[index : index + 1] == _SLASH]


def list_directories(path: str) -> list[dict[str, str]]:
    """From the root down to the directory of a path: `[{"name", "path"}]`, each path with its final `/`."""
    names = path.split("/")[1:-1]
    return [
        {"name": name, "path": "/" + "/".join(names[: index + 1]) + "/"} for index, name in enumerate(names)
    ]


def subtree_range(path_key: bytes) -> tuple[bytes, bytes]:
    """The half-open range of bytes that holds everything below a path: `/a/` up to `/a0`."""
    return path_key + _SLASH, path_key + _AFTER_SLASH


def prefix_range(prefix_key: bytes) -> tuple[bytes, bytes]:
    """The half-open range of everything below a prefix that ends with `/`."""
    return prefix_key, prefix_key[:-1] + _AFTER_SLASH
