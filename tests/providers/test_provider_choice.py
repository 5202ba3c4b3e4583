"""Which provider keeps an environment's records: the operator's word, read without asking anybody, and refused in one sentence."""

import json
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from memoryhub.deletions import list_remaining
from memoryhub.ids import ENVIRONMENT, new_id, to_wire
from providers import checks, provider_choice
from providers.adapters import ADAPTERS
from providers.contract import ConfigError
from providers.provider_choice import LOCAL, read_choice
from tests.providers.memory_services import FAKES
from tests.providers.misbehaving import Endpoint
from tests.providers.record_desk import RecordDesk, Scripted
from tests.providers.test_adapters import Adapt, adapt  # noqa: F401 - a fixture
from tests.world import Tenant

HINDSIGHT: dict[str, Any] = {"adapter": "hindsight", "options": {"url": "https://mem.example.com"}}
ENV = to_wire(ENVIRONMENT, new_id())


def choose(settings: Any, **configured: Any) -> None:
    settings.MEMORY_PROVIDERS = json.dumps(configured)


def test_nothing_configured_is_the_hub_itself(settings: Any) -> None:
    settings.MEMORY_PROVIDERS = "{}"
    assert provider_choice.provider_of(new_id()).name == LOCAL
    assert provider_choice.find_provider("team") is None and checks.check_providers(None) == []


def test_an_environment_may_have_another_than_the_default(settings: Any, tenant: Tenant) -> None:
    choose(
        settings,
        providers={"team": HINDSIGHT},
        default="team",
        environments={tenant.production.wire_id: "local"},
    )
    assert provider_choice.provider_of(tenant.development.id).name == "team"
    assert provider_choice.provider_of(tenant.production.id).name == LOCAL
    bound = provider_choice.find_provider("team")
    assert bound is not None and (bound.write_effect, bound.dedup_window_ms) == ("idempotent", 600_000)


EFFECTS = {
    "hindsight": "idempotent",
    "mem0": "guarded",
    "letta": "guarded",
    "honcho": "unguarded",
    "zep": "unguarded",
}


@pytest.mark.parametrize("name", ADAPTERS)
def test_each_adapter_declares_its_writes(name: str) -> None:
    options = {"url": "https://mem.example.com/base", "secret": "KEY"}
    choice = read_choice(json.dumps({"providers": {"one": {"adapter": name, "options": options}}}))
    assert choice.providers["one"].write_effect == EFFECTS[name]
    assert set(EFFECTS) == set(ADAPTERS) == set(FAKES)


def one(adapter: str = "hindsight", **options: Any) -> dict[str, Any]:
    return {"providers": {"team": {"adapter": adapter, "options": options}}}


URL = "https://mem.example.com"
REFUSED: list[tuple[Any, str]] = [
    ([], "object"),
    ({"provider": {}}, "no field provider"),
    ({"providers": []}, "providers must be an object"),
    ({"providers": {"Team": HINDSIGHT}}, "cannot be called"),
    ({"providers": {"local": HINDSIGHT}}, "cannot be called"),
    ({"providers": {"team": "hindsight"}}, "adapter and options"),
    ({"providers": {"team": {"adapter": "hindsight", "url": URL}}}, "no field url"),
    ({"providers": {"team": {"options": {}}}}, "adapter is missing"),
    ({"providers": {"team": {"adapter": "nobody"}}}, "no adapter nobody"),
    ({"default": "team"}, "none of the providers"),
    ({"environments": {ENV: "team"}}, "none of the providers"),
    ({"environments": {"production": "local"}}, "no environment's id"),
    (one(), "url is missing"),
    (one(url=7), "url must be"),
    (one(url="mem.example.com"), "url must be"),
    (one(url="ftp://mem.example.com"), "url must be"),
    (one(url="https://a:b@mem.example.com"), "url must be"),
    (one(url="https://Mem.example.com"), "url must be"),
    (one(url="https://mem.example.com:0"), "url must be"),
    (one(url="https://mem.example.com:99999"), "url must be"),
    (one(url="https://mem.example.com/a?b=c"), "url must be"),
    (one(url="https://mem.example.com/a b"), "url must be"),
    (one(url=URL, token="x"), "no option token"),
    (one(url=URL, secret="a b"), "name of a secret"),
    (one(url=URL, budget="high"), "budget"),
    (one(url=URL, dedup_window_ms=0), "dedup_window_ms"),
    (one(url=URL, dedup_window_ms=True), "dedup_window_ms"),
    (one("mem0"), "secret is missing"),
    (one("mem0", secret="KEY", lag_ms=9_000), "lag_ms"),
    (one("letta"), "secret is missing"),
    (one("letta", secret="KEY", embedding=""), "embedding"),
    (one("honcho"), "secret is missing"),
    (one("zep"), "secret is missing"),
    (one("zep", secret="KEY", dedup_window_ms="600"), "dedup_window_ms"),
]


@pytest.mark.parametrize(("configured", "told"), REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_what_cannot_be_is_told_at_the_start(settings: Any, configured: Any, told: str) -> None:
    settings.MEMORY_PROVIDERS = json.dumps(configured)
    with pytest.raises(ConfigError, match=told) as raised:
        read_choice(settings.MEMORY_PROVIDERS)
    assert raised.value.code == "invalid_config"
    [message] = checks.check_providers(None)
    assert message.id == "memoryhub.E005" and told in str(message.msg)


# --- adapters of others ---


def register(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    point = EntryPoint("theirs", value, provider_choice.ENTRY_POINTS)
    monkeypatch.setattr(
        provider_choice, "entry_points", lambda **wanted: EntryPoints([point]).select(**wanted)
    )
    read_choice.cache_clear()


def make_theirs(name: str, options: Any) -> Scripted:
    """What a package would register."""
    if options != {"answer": 42}:
        raise ConfigError("answer is missing.")
    return Scripted(effect="idempotent", window_ms=1_000)


def make_nothing(name: str, options: Any) -> None:
    return None


THEIRS = {"providers": {"team": {"adapter": "theirs", "options": {"answer": 42}}}, "default": "team"}


def test_a_package_brings_an_adapter(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, f"{__name__}:make_theirs")
    choose(settings, **THEIRS)
    bound = provider_choice.provider_of(new_id())
    assert (bound.name, bound.write_effect, bound.dedup_window_ms) == ("team", "idempotent", 1_000)
    assert isinstance(bound.provider, Scripted)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("no_such_package:make", "cannot be loaded"),
        (f"{__name__}:no_such_name", "cannot be loaded"),
        (f"{__name__}:make_nothing", "made no memory provider"),
    ],
)
def test_a_package_that_brings_none(monkeypatch: pytest.MonkeyPatch, value: str, told: str) -> None:
    register(monkeypatch, value)
    with pytest.raises(ConfigError, match=told):
        read_choice(json.dumps(THEIRS))


# --- through the doors ---


def test_records_of_an_environment_are_kept_where_it_says(
    adapt: Adapt,  # noqa: F811
    committed: Tenant,
    settings: Any,
) -> None:
    made = adapt("letta")
    choose(
        settings,
        providers={"letta": {"adapter": "letta", "options": made.options}},
        environments={committed.development.wire_id: "letta"},
    )
    desk = RecordDesk(committed)
    record_id = desk.save("Alice drinks tea.")
    assert desk.find("tea") == ["Alice drinks tea."] and [one.text for one in made.fake.kept] == [
        "Alice drinks tea."
    ]
    desk.forget(record_id)
    assert desk.find("tea") == [] and made.fake.kept == []


def test_what_other_services_hold_is_named_when_an_environment_goes(
    adapt: Adapt,  # noqa: F811
    committed: Tenant,
    endpoint: Endpoint,
) -> None:
    made = adapt("letta")
    made.save()
    [one] = [left for left in list_remaining([committed.development.id]) if left["resource"] == "letta"]
    assert one["endpoint"] == endpoint.origin and one["namespace"] == "support api/alice"
    assert one["partition"].startswith("archive-")
