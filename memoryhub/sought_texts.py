"""SQL that finds a sought text in a column of a row: plain text, JSON, or the bytes of JSON.

Of JSON a whole string is meant by its SHA-256, and any part of it by the text.
"""

from typing import Any

from memoryhub.digests import exact_json
from memoryhub.erasure import Sought

type Form = dict[str, str]

PLAIN: Form = {
    "contains": "strpos({0}, %(text)s) > 0",
    "sha256": "encode(sha256(convert_to({0}, 'UTF8')), 'hex') = %(sha256)s",
}
JSON: Form = {
    "contains": "strpos({0}::text, %(escaped)s) > 0",
    "sha256": (
        "EXISTS (SELECT 1 FROM jsonb_path_query({0}, 'strict $.**') AS v WHERE jsonb_typeof(v) = 'string'"
        " AND encode(sha256(convert_to(v #>> '{{}}', 'UTF8')), 'hex') = %(sha256)s)"
    ),
}
JSON_TEXT: Form = {
    "contains": "strpos({0}, %(escaped)s) > 0",
    "sha256": JSON["sha256"].replace("{0}", "{0}::jsonb"),
}
BYTES: Form = {
    "contains": "strpos(convert_from({0}, 'UTF8'), %(escaped)s) > 0",
    "sha256": JSON["sha256"].replace("{0}", "convert_from({0}, 'UTF8')::jsonb"),
}


def holds(sought: Sought, *texts: tuple[Form, str]) -> str:
    """A condition over columns, each in its form; its parameters are `sought_values`."""
    by = "contains" if sought.contains is not None else "sha256"
    return "(" + " OR ".join(form[by].format(column) for form, column in texts) + ")"


def sought_values(sought: Sought) -> dict[str, Any]:
    text = sought.contains or ""
    escaped = exact_json(text).decode()[1:-1]
    return {"text": text, "escaped": escaped, "sha256": sought.content_sha256}
