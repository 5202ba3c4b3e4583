"""Each rule of a declaration, by one manifest that breaks it. Contract, section 2."""

from typing import Any

import pytest

from memoryhub.errors import InvalidRequest
from providers.declarations import DocumentProvider, HttpProvider, parse_manifest
from providers.limits import TOOL_INPUT_BYTES_MAX, TOOL_INPUT_DEPTH_MAX
from tests.providers.manifests import SCHEMA, connection, document_resource, http_resource, manifest, tool


def problems_of(value: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidRequest) as refused:
        parse_manifest(value)
    assert refused.value.error_code == "invalid_declaration"
    return [(one["pointer"], one["message"]) for one in refused.value.facts["problems"]]


def pointers(value: Any) -> list[str]:
    return [pointer for pointer, _ in problems_of(value)]


def test_defaults_are_written_out() -> None:
    parsed = parse_manifest(manifest(document_resource(), http_resource()))
    assert parsed.resources["playbook"].provider == DocumentProvider(8_192)
    provider = parsed.resources["knowledge"].provider
    assert isinstance(provider, HttpProvider)
    assert (provider.path, provider.bytes_max, provider.tools[0].idempotent) == ("/memory", 8_192, False)
    assert parse_manifest(parsed.to_manifest()) == parsed


def test_the_same_declaration_in_another_order_has_the_same_digest() -> None:
    one = parse_manifest(manifest(document_resource(), http_resource()))
    other = parse_manifest(manifest(http_resource(path="/memory"), document_resource(maxBytes=8_192)))
    assert one.sha256() == other.sha256()
    assert one.sha256() != parse_manifest(manifest(document_resource(maxBytes=1))).sha256()


@pytest.mark.parametrize("id_", ["a", "a1-b2", "a" * 128, " padded "])
def test_an_id_may_be(id_: str) -> None:
    assert list(parse_manifest(manifest(document_resource(id_))).resources) == [id_.strip()]


@pytest.mark.parametrize("id_", ["", "a--b", "-a", "a-", "A", "a_b", "ä", "a" * 129, None, 1])
def test_an_id_may_not_be(id_: Any) -> None:
    assert pointers(manifest(document_resource(id_))) == ["/memory/0/id"]


@pytest.mark.parametrize("size", [1, 16_384])
def test_a_limit_of_bytes_may_be(size: int) -> None:
    assert parse_manifest(manifest(document_resource(maxBytes=size))).resources["playbook"].provider == (
        DocumentProvider(size)
    )


@pytest.mark.parametrize("size", [0, 16_385, True, 1.5, "1", None])
def test_a_limit_of_bytes_may_not_be(size: Any) -> None:
    assert pointers(manifest(document_resource(maxBytes=size))) == ["/memory/0/provider/maxBytes"]
    assert pointers(manifest(http_resource(maxBytes=size))) == ["/memory/0/provider/maxBytes"]


@pytest.mark.parametrize(
    "provider",
    [{"kind": "document", "more": 1}, {"kind": "other"}, {"maxBytes": 1}, "document", None],
    ids=["unknown key", "unknown kind", "no kind", "text", "null"],
)
def test_a_provider_may_not_be(provider: Any) -> None:
    resource = document_resource() | {"provider": provider}
    assert pointers(manifest(resource))[0].startswith("/memory/0/provider")


@pytest.mark.parametrize("path", ["/", "/memory", "/a/b-c_d.e~f", "/a%20b", "/a:b@c", "/...", "/a/..b"])
def test_a_path_may_be(path: str) -> None:
    assert parse_manifest(manifest(http_resource(path=path)))


@pytest.mark.parametrize(
    "path",
    [
        "",
        "memory",
        "//x",
        "/a?b",
        "/a b",
        "/a#b",
        "/a\\b",
        "/a/../b",
        "/./a",
        "/a%2fb",
        "/a%5Cb",
        "/%2e%2e",
        "/a%00",
    ]
    + ["/a%", "/a%2", "/a\tb", "/a\x7f", "/ä", None, 1],
)
def test_a_path_may_not_be(path: Any) -> None:
    assert pointers(manifest(http_resource(path=path))) == ["/memory/0/provider/path"]


@pytest.mark.parametrize(
    ("prefix", "path", "is_admitted"),
    [
        ("/oc-memory", "/oc-memory", True),
        ("/oc-memory", "/oc-memory/x", True),
        ("/oc-memory", "/oc-memory-b", False),
        ("/oc-memory/", "/oc-memory/x", True),
        ("/oc-memory/", "/oc-memory/", False),
        ("/oc-memory/", "/oc-memory", False),
        ("/oc-memory", "/other", False),
    ],
)
def test_a_path_lies_below_its_prefix_by_segment(prefix: str, path: str, is_admitted: bool) -> None:
    declared = manifest(http_resource(path=path), connections=[connection(pathPrefix=prefix)])
    if is_admitted:
        assert parse_manifest(declared)
    else:
        assert pointers(declared) == ["/memory/0/provider/path"]


@pytest.mark.parametrize(
    "origin",
    [
        "https://memory.example.com",
        "https://memory.example.com:8443",
        "https://Memory.Example.com",
        "https://a",
    ],
)
def test_an_origin_may_be(origin: str) -> None:
    parsed = parse_manifest(manifest(http_resource(), connections=[connection(origin=origin)]))
    assert parsed.connections["kb"].origin == origin.lower()


@pytest.mark.parametrize(
    "origin",
    [
        "http://a.example",
        "https://",
        "https://a/",
        "https://a/x",
        "https://a?x",
        "https://a#x",
        "https://u:p@a",
    ]
    + [
        "https://127.0.0.1",
        "https://[::1]",
        "https://127.1",
        "https://0x7f.1",
        "https://2130706433",
        "https://a.",
    ]
    + [
        "https://a:0",
        "https://a:65536",
        "https://a:",
        "https://a b",
        "https://a\tb",
        "ftp://a",
        "a",
        "",
        None,
    ]
    + [
        "file:///etc/passwd",
        "gopher://a",
        "https://0177.0.0.1",
        "https://[::ffff:7f00:1]",
        "https://[fe80::1%25eth0]",
        "https://localhost.",
        "https://memory.example\\@127.0.0.1",
        "https://memory.example#@127.0.0.1",
        "https://memory.example\x00.evil",
        "https://memory.example/\r\nX: y",
        "http+unix://%2Fvar%2Frun%2Fdocker.sock",
        "https:///x",
        "//memory.example",
    ]
    + ["https://a\\b", "https://-a", "https://a..b", "https://1.2.3.0x4"],
)
def test_an_origin_may_not_be(origin: Any) -> None:
    declared = manifest(http_resource(), connections=[connection(origin=origin)])
    assert pointers(declared) == ["/connections/0/origin"]


def test_the_port_of_https_is_the_same_origin_as_none() -> None:
    parsed = parse_manifest(manifest(connections=[connection(origin="https://a.example:443")]))
    assert parsed.connections["kb"].origin == "https://a.example"


def test_a_connection_of_memory_needs_the_method_post() -> None:
    declared = manifest(http_resource(), connections=[connection(methods=["GET"])])
    assert pointers(declared) == ["/memory/0/provider/connection"]
    assert pointers(manifest(http_resource(), connections=[connection(methods=[])])) == [
        "/connections/0/methods",
        "/memory/0/provider/connection",
    ]
    assert pointers(manifest(http_resource(), connections=[])) == ["/memory/0/provider/connection"]


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "authorization",
        "Proxy-Authorization",
        "Cookie",
        "X-API-Key",
        "Api-Key",
        "X-Auth",
        "My-Token",
    ]
    + ["X-Secret-Thing", "password", "x-apikey", "x-api_key"],
)
def test_a_sensitive_header_comes_from_a_secret(name: str) -> None:
    literal = manifest(connections=[connection(headers={name: "Bearer x"})])
    assert pointers(literal) == [f"/connections/0/headers/{name}"]
    secret = {"secret": "MEMORY_TOKEN", "prefix": "Bearer "}
    assert parse_manifest(manifest(connections=[connection(headers={name: secret})])).connections[
        "kb"
    ].secret_names() == {"MEMORY_TOKEN"}


@pytest.mark.parametrize(
    ("name", "value", "at"),
    [
        *(
            (name, "x", "")
            for name in (
                "Host",
                "content-length",
                "Content-Type",
                "Transfer-Encoding",
                "Connection",
                "Accept-Encoding",
            )
        ),
        *((name, "x", "") for name in ("Expect", "TE", "Upgrade", "a b", "", "ä", "a:b")),
        ("X-Tenant", "a\nb", ""),
        ("X-Tenant", "a\x00b", ""),
        ("X-Tenant", "x" * 4_097, ""),
        ("X-Tenant", "ä", ""),
        ("X-Tenant", 1, ""),
        ("X-Tenant", {"secret": "lower"}, "/secret"),
        ("X-Tenant", {"secret": "1A"}, "/secret"),
        ("X-Tenant", {"secret": "A" * 129}, "/secret"),
        ("X-Tenant", {"secret": "A", "prefix": "a\r"}, "/prefix"),
        ("X-Tenant", {"secret": "A", "more": "a"}, "/more"),
    ],
)
def test_a_header_may_not_be(name: str, value: Any, at: str) -> None:
    found = pointers(manifest(connections=[connection(headers={name: value})]))
    assert f"/connections/0/headers/{name}{at}" in found


def test_a_header_may_not_be_named_twice_in_two_cases() -> None:
    declared = manifest(connections=[connection(headers={"X-A": "1", "x-a": "2"})])
    assert pointers(declared) == ["/connections/0/headers/x-a"]


def test_the_same_id_twice_needs_the_same_provider() -> None:
    assert parse_manifest(manifest(document_resource(maxBytes=8_192), document_resource()))
    assert pointers(manifest(document_resource(maxBytes=1), document_resource())) == ["/memory/1"]
    assert pointers(manifest(connections=[connection(), connection()])) == ["/connections/1/id"]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "a" * 33},
        {"name": "Upper"},
        {"name": ""},
        {"name": "a-b"},
        {"description": "  "},
        {"description": None},
        {"access": "admin"},
        {"access": None},
        {"idempotent": 1},
        {"more": 1},
    ],
    ids=lambda change: f"{next(iter(change.items()))}",
)
def test_a_tool_may_not_be(change: dict[str, Any]) -> None:
    declared = manifest(http_resource(tools=[tool() | change]))
    assert pointers(declared) == [f"/memory/0/provider/tools/0/{next(iter(change))}"]


def test_eight_tools_of_different_names_and_no_more() -> None:
    assert parse_manifest(manifest(http_resource(tools=[tool(f"t{n}") for n in range(8)])))
    assert pointers(manifest(http_resource(tools=[tool(f"t{n}") for n in range(9)]))) == [
        "/memory/0/provider/tools"
    ]
    assert pointers(manifest(http_resource(tools=[tool(), tool()]))) == ["/memory/0/provider/tools/1/name"]


def deep(levels: int) -> dict[str, Any]:
    """A schema of that many levels."""
    schema: dict[str, Any] = {"type": "object"}
    inner: dict[str, Any] = {}
    for _ in range(levels - 2):
        inner = {"not": inner}
    return schema | {"not": inner}


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        True,
        {},
        {"type": ["object"]},
        {"type": "string"},
        SCHEMA | {"$ref": "#"},
        SCHEMA | {"properties": {"a": {"items": [{"x": {"$ref": "#"}}]}}},
        SCHEMA | {"properties": {"$ref": {}}, "required": []},
        SCHEMA | {"$dynamicRef": "#"},
        SCHEMA | {"$recursiveRef": "#"},
        SCHEMA | {"$schema": "http://json-schema.org/draft-07/schema#"},
        SCHEMA | {"properties": {"memory": {}}, "required": []},
        SCHEMA | {"required": ["memory"]},
        SCHEMA | {"dependentRequired": {"memory": []}},
        SCHEMA | {"dependentSchemas": {"memory": {}}},
        SCHEMA | {"properties": []},
        SCHEMA | {"required": "fact"},
        SCHEMA | {"required": [1]},
        SCHEMA | {"properties": {"a": {"pattern": "("}}},
        SCHEMA | {"properties": {"a": {"type": "text"}}},
        SCHEMA | {"minProperties": -1},
        SCHEMA | {"description": "x" * TOOL_INPUT_BYTES_MAX},
        deep(TOOL_INPUT_DEPTH_MAX + 1),
        deep(60),
    ],
    ids=lambda schema: str(schema)[:70],
)
def test_an_input_schema_may_not_be(schema: Any) -> None:
    assert pointers(manifest(http_resource(tools=[tool(input=schema)]))) == [
        "/memory/0/provider/tools/0/input"
    ]


def test_an_input_schema_may_be_as_deep_and_as_long_as_the_limit() -> None:
    room = TOOL_INPUT_BYTES_MAX - len('{"description":"","type":"object"}')
    for schema in (deep(TOOL_INPUT_DEPTH_MAX), {"type": "object", "description": "x" * room}):
        assert parse_manifest(manifest(http_resource(tools=[tool(input=schema)])))


def test_every_problem_is_told_at_once() -> None:
    declared = manifest(
        document_resource("A"), http_resource(path="//"), connections=[connection(origin="http://a")]
    )
    assert pointers(declared) == ["/connections/0/origin", "/memory/0/id", "/memory/1/provider/path"]


@pytest.mark.parametrize("value", [None, [], "x", {"more": 1}, {"memory": {}}, {"ordinaryTools": [1]}])
def test_a_manifest_may_not_be(value: Any) -> None:
    assert problems_of(value)


def test_a_write_tool_that_does_not_say_when_it_is_seen_is_warned_of() -> None:
    silent = http_resource(tools=[tool(description="Keeps a fact.")])
    assert len(parse_manifest(manifest(silent)).warnings) == 1
    assert parse_manifest(manifest(http_resource())).warnings == []
