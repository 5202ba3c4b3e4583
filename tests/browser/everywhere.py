"""Every page of the hub that a person can open, from the list of its URLs: a new page cannot be forgotten.

A parameter of a URL that the example has no id for is an error.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.urls import URLPattern, URLResolver, get_resolver

from memoryhub.docs_pages import pages as docs_pages
from memoryhub.problems import is_api_path
from tests.browser.example import Example

# Pages for those who are not signed in; to others they are closed, or would let them in as somebody.
FOR_GUESTS = {"sign-in", "sign-in-link", "invitation"}
# Pages of a question that their query asks: there is none without it.
ASKED = {"compare", "nomination-record"}
# Further faces of a page, by the name of its URL; a parameter of the example may stand in a query.
QUERIES = {
    "memory": ["view=rendered"],
    "create-memory": ["directory=/policies/"],
    "as-it-was": ["at={now}"],
    "audit": ["subject_id={memory_id}", "action=api_key.revoked"],
    "compare": ["after={version_id}"],
    "nomination-record": ["key=fact:delivery", "key=fact:gate"],
    "effects": ["state=", "provider=nobody"],
    "violations": ["provider=nobody"],
    "records": ["name=elin", "name=nobody"],
    "record-scope": ["state=forgotten", "thread=call-17", "author=nobody", "provider=team"],
    "review": ["state=rejected", "route=none"],
    "record-writes": ["state=", "state=expired"],
    "sessions": ["state=ended", "resource=none"],
    "session-events": ["after=3"],
    "store": ["q=forklift", "q=nothing+of+this+kind", "directory=/customers/acme-boatyard/"],
}
# The same page for another thing: each parameter that is named takes each of its ids.
ALL_OF = {
    "job": ["job_id"],
    "key": ["key_id"],
    "store": ["store_id"],
    "memory": ["memory_id"],
    "version": ["version_id"],
    "resource": ["resource_id"],
    "document": ["document_id"],
    "deployment": ["deployment_id"],
    "session": ["session_id"],
    "model-request": ["request_id"],
    "call": ["operation_id"],
    "resource-calls": ["resource_id"],
    "try-service": ["resource_id"],
    "rotate-credential": ["credential_id"],
    "session-calls": ["session_id"],
    "nomination": ["nomination_sha256"],
    "host-call": ["call_id"],
    "authority": ["authority_id"],
    "record-scope": ["scope_id"],
    "memory-record": ["memory_record_id"],
    "effect": ["effect_id"],
    "webhook": ["webhook_id"],
    "webhook-settings": ["webhook_id"],
    "webhook-delivery": ["delivery_id"],
}
# The same page for another thing whose parameters belong together: {parameter: what the example calls it}.
_AT_PROVIDER = {"endpoint_id": "provider endpoint_id", "partition_id": "provider partition_id"}
TOGETHER = {
    "model-request": {"session_id": "calling session_id", "request_id": "calling request_id"},
    "endpoint": {"endpoint_id": "provider endpoint_id"},
    "delete-endpoint": {"endpoint_id": "provider endpoint_id"},
    "partitions": {"endpoint_id": "provider endpoint_id"},
    "partition": _AT_PROVIDER,
    "delete-partition": _AT_PROVIDER,
}
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


# What a page shows when its form is sent, and a button of the answer pressed; none of these changes anything.
SENT: dict[str, dict[str, str]] = {
    "find-text": {"sought-contains": "{sought}"},
    "find-in-store": {"sought-contains": "nothing of this kind"},
    "redact-text": {"sought-contains": "{sought}"},
    "search-records": {"query": "Jonas: when can the Volvo D4 be delivered?", "k": "5"},
    "try-memory": {"input": "What did we agree with the boatyard?"},
}
PRESSED = {"redact-text": "Redact everywhere…"}


@dataclass(frozen=True)
class Address:
    """`name`: of the URL, with a number when the page is shown more than once. `path` has its query.

    `sends`: what to fill into the form of the page, and then look at. `presses`: a button of what it shows then.
    """

    name: str
    path: str
    is_for_guests: bool
    sends: tuple[tuple[str, str], ...] = ()
    presses: str | None = None


def list_addresses(example: Example) -> list[Address]:
    """Those that answer to a form alone, or with a file, are among them: a visitor sees it by the answer."""
    found: list[Address] = []
    for name, route in _routes():
        paths = list(_paths(name, route, example))
        for index, path in enumerate(paths):
            found.append(Address(f"{name}-{index + 1}" if index else name, path, name in FOR_GUESTS))
        if name in SENT:
            found.append(
                Address(
                    f"{name}-sent",
                    paths[0],
                    False,
                    tuple(
                        (field, value.format(sought=example.sought)) for field, value in SENT[name].items()
                    ),
                    PRESSED.get(name),
                )
            )
    return found


def _routes() -> Iterator[tuple[str, str]]:
    """(name, route) of every URL that is not the API's."""
    for prefix, pattern in _walk(get_resolver(), "/"):
        route = prefix + str(pattern.pattern)
        if not is_api_path(route):
            assert pattern.name, f"{route} has no name"
            yield pattern.name, route


def _walk(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern, prefix + str(pattern.pattern))
        else:
            yield prefix, pattern


def _paths(name: str, route: str, example: Example) -> Iterator[str]:
    first = {parameter: _values(name, parameter, example)[0] for parameter in _PARAMETER.findall(route)}
    paths = [_fill(route, first)]
    for parameter in ALL_OF.get(name, []):
        others = _values(name, parameter, example)[1:]
        paths += [_fill(route, first | {parameter: other}) for other in others]
    if name in TOGETHER:
        together = {
            parameter: _values(name, known, example)[0] for parameter, known in TOGETHER[name].items()
        }
        paths.append(_fill(route, first | together))
    if name == "docs-page":
        paths = [_fill(route, {"name": page}) for page in docs_pages()]
    asked = [f"{paths[0]}?{_complete(query, example)}" for query in QUERIES.get(name, [])]
    return iter(asked if name in ASKED else [*paths, *asked])


def _complete(query: str, example: Example) -> str:
    known = {parameter: values[0] for parameter, values in example.ids.items()}
    now = datetime.now(UTC) + timedelta(seconds=1)  # the second that all of the example is before
    return query.format(**known, now=f"{now:%Y-%m-%dT%H:%M:%SZ}")


def _values(name: str, parameter: str, example: Example) -> list[str]:
    if parameter == "token":
        parameter = f"{'invitation' if name == 'invitation' else 'sign-in'} token"
    values = ["settings"] if name == "docs-page" else example.ids.get(parameter)
    assert values, f"the page {name!r} has a parameter {parameter!r} that the example has nothing for"
    return values


def _fill(route: str, values: dict[str, str]) -> str:
    return _PARAMETER.sub(lambda match: values[match[1]], route)
