"""The rules of the house that need no reviewer."""

import ast
import inspect
import re
import sys
from statistics import median

import pytest
from django.conf import settings
from django.urls import get_resolver
from rest_framework.serializers import ListField

from memoryhub import egress, errors, operations, pagination, problems
from memoryhub.errors import HubError
from memoryhub.fields import StrictSerializer
from providers import limits as provider_limits
from stores import limits
from tests.source import PRODUCT, ROOT, Function, Module, headings, modules, texts
from tools import permissions

# --- errors ---


def error_classes() -> set[type[HubError]]:
    found = (value for _, value in inspect.getmembers(errors, inspect.isclass))
    return {value for value in found if issubclass(value, HubError) and value is not HubError}


def test_every_error_class_has_its_answer_and_exact_classes_stand_first() -> None:
    assert set(problems.ANSWERS) == error_classes()
    order = list(problems.ANSWERS)
    shadowed = [
        kind for index, kind in enumerate(order) if any(issubclass(kind, before) for before in order[:index])
    ]
    assert shadowed == []


def test_a_status_and_a_type_say_one_thing() -> None:
    answers = list(problems.ANSWERS.values())
    assert len(answers) == len(set(answers))


def error_codes() -> set[str]:
    return {
        keyword.value.value
        for module in modules(*PRODUCT)
        for _, call in module.calls()
        for keyword in call.keywords
        if keyword.arg == "error_code" and isinstance(keyword.value, ast.Constant)
    }


def test_every_error_type_and_code_has_its_paragraph() -> None:
    types = {error_type for _, error_type in problems.ANSWERS.values()}
    assert len(error_codes()) > 20
    assert headings("errors") == types | error_codes()


def test_error_codes_are_written_out() -> None:
    computed = [
        f"{module.name}:{call.lineno}"
        for module in modules(*PRODUCT)
        for _, call in module.calls()
        for keyword in call.keywords
        if keyword.arg == "error_code" and not isinstance(keyword.value, ast.Constant)
    ]
    # The log line of an error that was translated, and nothing else.
    assert len(computed) <= 1, computed


# --- settings ---

READERS = {"read_text", "read_integer", "read_flag", "read_list", "read_choice", "getenv"}


def settings_read() -> set[str]:
    """Every environment variable that the code reads."""
    names = set()
    for module in modules(*PRODUCT):
        for name, call in module.calls():
            first = call.args[0] if call.args else None
            if name in READERS or ast.unparse(call.func) == "os.environ.get":
                names |= _names(first)
            if name in ("_secret", "_key") and isinstance(first, ast.Constant):
                names.add(f"MEMORYHUB_{str(first.value).upper()}")
    return names


def _names(argument: ast.expr | None) -> set[str]:
    value = argument.value if isinstance(argument, ast.Constant) else None
    return {value} if isinstance(value, str) and value.isupper() else set()


def test_every_setting_has_its_paragraph() -> None:
    assert len(settings_read()) > 15
    assert headings("settings") == settings_read()


def test_settings_read_the_environment_by_typed_readers() -> None:
    bare = [
        module.name
        for module in modules(*PRODUCT)
        if re.search(r"os\.environ(\.get\(|\[)", module.text) and module.name not in READ_BARE
    ]
    assert bare == []


# Where a variable is passed on or set for a child, not read as a setting.
READ_BARE = {
    "memoryhub/environ.py",
    "memoryhub/gunicorn_config.py",
    "memoryhub/supervisor.py",
    "memoryhub/backup_programs.py",
    "stores/mount/command.py",
}

# --- rights ---


def test_the_page_of_permissions_is_the_table_of_rights() -> None:
    assert permissions.PAGE.read_text(encoding="utf-8") == permissions.page(), (
        "run python -m tools.permissions"
    )


def test_every_right_names_known_scopes_and_somebody_holds_it() -> None:
    for operation in operations.OPERATIONS.values():
        assert operation.scopes <= {*operations.SCOPES, operations.SESSION, operations.WORK}, operation.name
        # an administrator holds every right but those of a session, which is its token's alone
        assert "admin" in operation.scopes or operation.scopes == {operations.SESSION}, operation.name


# --- verbs ---

# Verbs without an actor, and why.
VERBS_WITHOUT_ACTOR = {
    "memoryhub/accounts.py:create_sign_in_link": "an operator's command, or the hub itself at its first start",
    "memoryhub/accounts.py:use_sign_in_link": "the token is the credential",
    "memoryhub/accounts.py:_change_password": "a person changes nothing but their own account",
    "memoryhub/accounts.py:change_name": "a person changes nothing but their own account",
    "memoryhub/accounts.py:end_session": "a person ends nothing but their own sessions",
    "memoryhub/accounts.py:end_other_sessions": "a person ends nothing but their own sessions",
    "memoryhub/mail_wishes.py:change_wishes": "a person changes nothing but their own mails",
    "memoryhub/accounts.py:clear_expired": "nobody asks for it: a job removes what lets nobody in",
    "memoryhub/long_work.py:clear_expired": "nobody asks for it: a job removes what was kept long enough",
    "memoryhub/invitations.py:_accept": "the token is the credential",
    "memoryhub/projects.py:create_project": "the owner is the actor: the project has no other yet",
    "memoryhub/projects.py:create_operator": "an operator's command: there is nobody yet",
    "authority/host_runs.py:_publish": "the row of the call says who asked",
    "authority/explanations.py:take_entry": "the token is the credential; the authority was found through the actor",
    "memoryhub/secrets.py:_reseal": "an operator's command: no value changes",
    "stores/work_claims.py:_settle": "nobody asks for it: a job ends what was told to stop and had its time",
    "providers/model_requests.py:_fail": "the end of what its caller began with an actor",
}


def is_verb(function: Function) -> bool:
    return any(
        ast.unparse(decorator).endswith("atomic(durable=True)") for decorator in function.decorator_list
    )


def verbs() -> dict[str, Function]:
    return {
        f"{module.name}:{function.name}": function
        for module in modules(*PRODUCT)
        for function in module.functions()
        if is_verb(function)
    }


def test_every_verb_takes_its_actor_last_and_by_name() -> None:
    without = {
        name
        for name, function in verbs().items()
        if not function.args.kwonlyargs or function.args.kwonlyargs[-1].arg != "actor"
    }
    without -= {name for name in without if name.split(":")[1].startswith("_") and _has_actor(verbs()[name])}
    assert without == VERBS_WITHOUT_ACTOR.keys()


def _has_actor(function: Function) -> bool:
    """A private half of a verb may take it in place."""
    return [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)][-1:] == ["actor"]


def test_verbs_never_call_verbs() -> None:
    by_name = {name.split(":")[1] for name in verbs()}
    nested = [
        f"{name} calls {ast.unparse(call.func)}"
        for name, function in verbs().items()
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in by_name
    ]
    assert nested == []


# --- pages ---


def test_no_template_marks_text_as_safe() -> None:
    for name, text in texts("templates/**/*.html").items():
        assert not re.search(r"\|\s*safe|autoescape\s+off|safeseq", text), name


def test_text_is_marked_as_safe_where_it_was_sanitised_and_nowhere_else() -> None:
    markers = r"\b(mark_safe|SafeString|SafeText|SafeData|html_safe|__html__)\b"
    marking = {module.name for module in modules(*PRODUCT) if re.search(markers, module.text)}
    assert marking <= {"memoryhub/templatetags/hub.py"}


# --- the network ---

NETWORK = {
    "socket",
    "http",
    "urllib.request",
    "requests",
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "h11",
    "urllib3",
    "aiohttp",
    "ssl",
    "smtplib",
    "ftplib",
    "asyncio",
    "uvicorn",
}
OPENS_SOCKETS = {
    "memoryhub/client/transport.py": "calls a hub, from where there is none",
    "memoryhub/embedded/postgres.py": "asks whether its PostgreSQL listens",
    "memoryhub/embedded/valkey.py": "asks whether its queue listens",
    "memoryhub/event_loops.py": "keeps the loop in which a thread runs what calls, and opens nothing itself",
    "stores/mount/command.py": "names the machine to the queue, and calls through the client",
    "memoryhub/listening.py": "opens the hub's own ports and asks whether it is ready",
    "memoryhub/mcp.py": "serves MCP on the port that it was given",
    "memoryhub/supervisor.py": "holds those ports, and gives them to the servers",
    "memoryhub/web_worker.py": "says how long a connection that was accepted may take nothing, and opens none",
    "providers/flights.py": "runs the loop in which egress calls, and opens nothing itself",
    "memoryhub/webhook_sending.py": "runs the loop in which egress calls, and opens nothing itself",
    "memoryhub/egress.py": "calls what declarations and webhooks name, and nothing else does",
    "providers/provider_calls.py": "runs the coroutines of providers, and opens nothing itself",
    "providers/adapters/remote.py": "waits for its turn and its time, and opens nothing itself",
    "providers/adapters/service.py": "waits between two tries, and calls through egress",
    "providers/conformance.py": "asks a provider for many things at once, and opens nothing itself",
    "stores/mount/tools_server.py": "waits for its two streams and for a signal, and opens nothing itself",
    "tools/bench/clients.py": "calls the hub it measures",
    "tools/bench/recalls.py": "is the endpoint of the recalls that it measures",
}


def uses_network(module: Module) -> bool:
    return any(name == word or name.startswith(f"{word}.") for name in module.imports() for word in NETWORK)


def test_no_other_module_opens_a_socket() -> None:
    assert {module.name for module in modules() if uses_network(module)} == OPENS_SOCKETS.keys()


def test_a_mount_runs_where_there_is_no_hub() -> None:
    ours = [module for module in modules("stores") if module.name.startswith("stores/mount/")]
    assert len(ours) > 20
    allowed = (
        "memoryhub.client.",
        "memoryhub.digests.",
        "memoryhub.environ.",
        "memoryhub.exits.",
        "stores.mount.",
    )
    pure = ("stores.limits.", "stores.paths.", "stores.mount", "mcp", "anyio")
    foreign = {
        f"{module.name} imports {name}"
        for module in ours
        for name in module.imports()
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith((*allowed, *pure))
    }
    assert foreign == set()


def test_the_client_runs_where_there_is_no_hub() -> None:
    ours = [module for module in modules("memoryhub") if module.name.startswith("memoryhub/client/")]
    assert len(ours) > 5
    foreign = {
        f"{module.name} imports {name}"
        for module in ours
        for name in module.imports()
        if name.split(".")[0] not in sys.stdlib_module_names | {"httpx2"}
        and not name.startswith("memoryhub.client.")
    }
    assert foreign == set()


# --- limits ---

# The contract's name, where it stands in the code, and the contract's value.
LIMITS = [
    ("memories per store", limits.MEMORIES_PER_STORE_MAX, 2_000),
    ("bytes per memory", limits.MEMORY_CONTENT_BYTES_MAX, 102_400),
    ("path bytes", limits.PATH_BYTES_MAX, 1_024),
    ("path segments", limits.PATH_SEGMENTS_MAX, 20),
    ("store.name", limits.STORE_NAME_LENGTH_MAX, 255),
    ("store.description", limits.STORE_DESCRIPTION_LENGTH_MAX, 1_024),
    ("store.metadata pairs", limits.METADATA_PAIRS_MAX, 16),
    ("store.metadata keys", limits.METADATA_KEY_LENGTH_MAX, 64),
    ("store.metadata values", limits.METADATA_VALUE_LENGTH_MAX, 512),
    ("stores per session", limits.STORES_PER_SESSION_MAX, 8),
    ("instructions", limits.INSTRUCTIONS_LENGTH_MAX, 4_096),
    ("list limit default", pagination.LIST_LIMIT_DEFAULT, 20),
    ("list limit max", pagination.LIST_LIMIT_MAX, 100),
    ("full-view max", pagination.FULL_VIEW_LIMIT_MAX, 20),
    ("resource id", provider_limits.RESOURCE_ID_LENGTH_MAX, 128),
    ("resource maxBytes", provider_limits.RESOURCE_BYTES_MAX, 16_384),
    ("resource maxBytes default", provider_limits.RESOURCE_BYTES_DEFAULT, 8_192),
    ("tools per resource", provider_limits.TOOLS_MAX, 8),
    ("tool input", provider_limits.TOOL_INPUT_BYTES_MAX, 16_384),
    ("tool input depth", provider_limits.TOOL_INPUT_DEPTH_MAX, 32),
    ("header value", provider_limits.HEADER_VALUE_BYTES_MAX, 4_096),
    ("bindings per session", provider_limits.BINDINGS_MAX, 8),
    ("document id", provider_limits.DOCUMENT_ID_LENGTH_MAX, 128),
    ("namespace id", provider_limits.NAMESPACE_ID_LENGTH_MAX, 128),
    ("document title", provider_limits.TITLE_BYTES_MAX, 240),
    ("document summary", provider_limits.SUMMARY_BYTES_MAX, 240),
    ("overview lines", provider_limits.OVERVIEW_LINES_MAX, 50),
    ("overview bytes", provider_limits.OVERVIEW_BYTES_MAX, 16_384),
    ("tool arguments", provider_limits.ARGUMENTS_BYTES_MAX, 65_536),
    ("argument problems", provider_limits.ARGUMENT_PROBLEMS_MAX, 10),
    ("echoed value", provider_limits.ECHOED_LENGTH_MAX, 200),
    ("operation budget", provider_limits.BUDGET_SECONDS, 10),
    ("operation attempts", provider_limits.ATTEMPTS_MAX, 3),
    ("retry delays", provider_limits.DELAY_SECONDS, (0.25, 1.0)),
    ("connect", egress.CONNECT_SECONDS_MAX, 3),
    ("answer head", egress.ANSWER_HEAD_BYTES_MAX, 32_768),
    ("answer body", egress.ANSWER_BYTES_MAX, 65_536),
    ("recall sources", provider_limits.RECALL_SOURCES_MAX, 100),
    ("source id", provider_limits.SOURCE_ID_BYTES_MAX, 1_024),
    ("cursor", provider_limits.CURSOR_BYTES_MAX, 1_024),
    ("calls of an origin", provider_limits.ORIGIN_CALLS_MAX, 16),
    ("calls of a session", provider_limits.SESSION_CALLS_MAX, 4),
    ("wait for an operation", provider_limits.WAIT_SECONDS_MAX, 12),
    ("document body", provider_limits.BODY_BYTES_MAX, 65_536),
    ("hits of a recall", provider_limits.RECALL_HITS_MAX, 20),
    ("hits of a recall unless asked", provider_limits.RECALL_HITS_DEFAULT, 5),
    ("bytes of a recall", provider_limits.RECALLED_BYTES_MAX, 16_384),
    ("a provider's seconds", provider_limits.PROVIDER_SECONDS_MAX, 10.0),
    ("text of a record", provider_limits.RECORD_TEXT_BYTES_MAX, 8_192),
    ("key of a write", provider_limits.RECORD_KEY_BYTES_MAX, 256),
    ("part of a scope", provider_limits.SCOPE_PART_BYTES_MAX, 256),
    ("query", provider_limits.RECORD_QUERY_LENGTH_MAX, 2_000),
    ("message of an error", provider_limits.PROVIDER_MESSAGE_LENGTH_MAX, 500),
    ("positive integer", provider_limits.POSITIVE_INTEGER_MAX, 2**53 - 1),
    ("body cap", settings.REQUEST_BODY_BYTES_MAX, 1_048_576),
]


@pytest.mark.parametrize(("name", "value", "wanted"), LIMITS, ids=[name for name, *_ in LIMITS])
def test_a_limit_has_the_contracts_value(name: str, value: object, wanted: object) -> None:
    assert value == wanted


def test_the_contracts_limits_cannot_be_moved_by_a_setting() -> None:
    contract = [name for module in (limits, provider_limits) for name in dir(module) if name.isupper()]
    assert contract
    assert not any(hasattr(settings, name) for name in contract)


# --- the manner ---

CATCHES_EVERYTHING = {
    "memoryhub/api.py": 1,
    "memoryhub/job_runs.py": 1,
    "memoryhub/mcp_door.py": 1,
    "memoryhub/mcp_server.py": 1,
    "authority/host_runs.py": 1,
    "providers/provider_calls.py": 1,
    "providers/record_vectors.py": 1,
}
FUNCTION_LINES_MAX = 70
FUNCTION_LINES_MEDIAN_MAX = 10
FILE_LINES_MAX = 400
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "services", "managers", "misc"}


def catches_everything(module: Module) -> int:
    """Handlers that would swallow what nobody expected; those that raise again do not."""
    handlers = [node for node in ast.walk(module.tree) if isinstance(node, ast.ExceptHandler)]
    wide = [
        node
        for node in handlers
        if node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")
    ]
    return sum(not isinstance(node.body[-1], ast.Raise) for node in wide)


def test_only_the_listed_places_catch_everything() -> None:
    found = {module.name: catches_everything(module) for module in modules()}
    assert {name: count for name, count in found.items() if count} == CATCHES_EVERYTHING


def lines(function: Function) -> int:
    return (function.end_lineno or 0) - function.lineno + 1


def test_functions_are_short() -> None:
    sizes = {
        f"{module.name}:{function.name}": lines(function)
        for module in modules()
        for function in module.functions()
    }
    assert {name: size for name, size in sizes.items() if size > FUNCTION_LINES_MAX} == {}
    assert median(sizes.values()) <= FUNCTION_LINES_MEDIAN_MAX


def test_files_can_be_held_in_the_head() -> None:
    sizes = {module.name: module.text.count("\n") for module in modules()}
    assert {name: size for name, size in sizes.items() if size >= FILE_LINES_MAX} == {}


def test_files_are_named_by_what_they_hold() -> None:
    words = {part for module in modules() for part in module.name.removesuffix(".py").split("/")}
    assert words & FORBIDDEN_NAMES == set()


def test_every_module_says_what_it_is() -> None:
    silent = [
        module.name for module in modules() if module.text.strip() and not ast.get_docstring(module.tree)
    ]
    assert silent == []


def test_work_left_undone_has_an_owner() -> None:
    for module in modules():
        assert not re.search(r"\b(TODO|FIXME|XXX)\b", module.text), module.name


def test_what_a_request_says_is_read_by_fields_that_change_nothing() -> None:
    """DRF's own trim texts and make texts of numbers."""
    assert get_resolver().url_patterns  # every shape is loaded
    waiting, loose = [StrictSerializer], []
    while waiting:
        shape = waiting.pop()
        waiting += shape.__subclasses__()
        for name, field in shape._declared_fields.items():
            inner = getattr(field, "child", None) or field
            if type(inner).__module__ == "rest_framework.fields" and not isinstance(inner, ListField):
                loose.append(f"{shape.__name__}.{name}")
    assert loose == []


def test_no_request_is_spread_into_a_query() -> None:
    """A filter's names come from the code; only its values come from a request."""
    for module in modules(*PRODUCT):
        assert not re.search(r"\*\*(self\.)?request\.", module.text), module.name


def test_the_tree_has_what_a_stranger_looks_for() -> None:
    for name in ("README.md", "LICENSE", "docs/quickstart.md", "docs/errors.md", "docs/settings.md"):
        assert (ROOT / name).is_file(), name
