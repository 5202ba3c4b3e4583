"""The interface of a memory provider: remember, recall and forget of records in a scope. Pure: nothing of Django.

Source: contract of the memory provider, sections 1 to 4. Whoever writes a provider imports this module and the suite in
`providers.conformance`, and nothing else. A provider only stores and searches; it returns errors and does not raise them.

Every type is immutable and strict: a value of another type is refused, not converted, and so is an unknown field.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, Self, get_args, runtime_checkable

from memoryhub.clock import to_wire
from memoryhub.digests import canonical_json
from providers.limits import (
    BINDING_PART_BYTES_MAX,
    POSITIVE_INTEGER_MAX,
    PROVENANCE_EVENTS_MAX,
    PROVIDER_MESSAGE_LENGTH_MAX,
    RECALL_HITS_DEFAULT,
    RECORD_ID_BYTES_MAX,
    RECORD_KEY_BYTES_MAX,
    RECORD_NAME_BYTES_MAX,
    RECORD_TAG_BYTES_MAX,
    RECORD_TAGS_MAX,
    RECORD_TEXT_BYTES_MAX,
    RECORD_VERSION_BYTES_MAX,
    SCOPE_PART_BYTES_MAX,
)

type Origin = Literal["user", "tool_output", "model", "host"]
type ErrorCode = Literal["unavailable", "timeout", "invalid", "scope_violation"]
type EffectClass = Literal["read_only", "idempotent", "guarded", "unguarded"]
type LookedUp = Literal["done", "not_done", "unknown"]

ORIGINS: tuple[str, ...] = get_args(Origin.__value__)
ERROR_CODES: tuple[str, ...] = get_args(ErrorCode.__value__)
EFFECT_CLASSES: tuple[str, ...] = get_args(EffectClass.__value__)
LOOKED_UP: tuple[str, ...] = get_args(LookedUp.__value__)


def check_text(value: object, name: str, *, bytes_max: int, bytes_min: int = 1) -> str:
    """Raises: TypeError, ValueError; neither quotes the text."""
    if type(value) is not str:
        raise TypeError(f"{name} must be a string.")
    if "\0" in value:
        raise ValueError(f"{name} must not hold a NUL.")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} must not hold half a surrogate pair.") from error
    if not bytes_min <= size <= bytes_max:
        raise ValueError(f"{name} must have {bytes_min} to {bytes_max} bytes.")
    return value


def is_positive_integer(value: object) -> bool:
    """Whether it is a PosInt; True is none."""
    return type(value) is int and 1 <= value <= POSITIVE_INTEGER_MAX


def check_key(key: object) -> None:
    """Raises: TypeError, ValueError."""
    check_text(key, "key", bytes_max=RECORD_KEY_BYTES_MAX)


class Strict:
    """A frozen dataclass that is read from a mapping without conversion."""

    __slots__ = ()

    @classmethod
    def read(cls, value: object) -> Self:
        """From itself, or a mapping of exactly its fields. Raises: TypeError, ValueError."""
        if type(value) is cls:
            value = {one.name: getattr(value, one.name) for one in fields(value)}  # type: ignore[arg-type]
        if not isinstance(value, Mapping):
            raise TypeError(f"{cls.__name__} must be an object.")
        declared = {one.name: one for one in fields(cls)}  # type: ignore[arg-type]
        if not value.keys() <= declared.keys():
            raise ValueError(f"{cls.__name__} has a field that is not known.")
        for name, one in declared.items():
            has_default = one.default is not MISSING or one.default_factory is not MISSING
            if name not in value and not has_default:
                raise ValueError(f"{cls.__name__} lacks {name}.")
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Scope(Strict):
    """Where records live. Issued by the host from a verified principal, never an argument of a tool."""

    tenant_id: str
    agent: str
    scope: str

    def __post_init__(self) -> None:
        for one in fields(self):
            check_text(getattr(self, one.name), one.name, bytes_max=SCOPE_PART_BYTES_MAX)


def scope_of(issuer: str, subject: str) -> str:
    """The scope of a principal: no two pairs give the same."""
    return f"{_escape(issuer)}/{_escape(subject)}"


def principal_of(scope: str) -> tuple[str, str]:
    """(issuer, subject) of what `scope_of` gave."""
    issuer, _, subject = scope.partition("/")
    return _unescape(issuer), _unescape(subject)


def _escape(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")


def _unescape(part: str) -> str:
    return part.replace("%2F", "/").replace("%25", "%")


@dataclass(frozen=True, slots=True)
class Binding(Strict):
    """Issued by the host; a provider stores it as given and returns it with every hit."""

    namespace: str
    record_id: str

    def __post_init__(self) -> None:
        for one in fields(self):
            check_text(getattr(self, one.name), one.name, bytes_max=BINDING_PART_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class Provenance(Strict):
    """Where a record comes from: the session, and the ids of the events that led to it."""

    thread_id: str
    event_ids: tuple[str, ...]

    def __post_init__(self) -> None:
        check_text(self.thread_id, "thread_id", bytes_max=RECORD_NAME_BYTES_MAX)
        events = _tuple_of_texts(
            self.event_ids, "event_ids", items_max=PROVENANCE_EVENTS_MAX, bytes_max=RECORD_NAME_BYTES_MAX
        )
        object.__setattr__(self, "event_ids", events)


def _tuple_of_texts(value: object, name: str, *, items_max: int, bytes_max: int) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} must be a list.")
    if len(value) > items_max:
        raise ValueError(f"{name} has at most {items_max} items.")
    return tuple(check_text(one, name, bytes_max=bytes_max) for one in value)


@dataclass(frozen=True, slots=True)
class MemoryRecord(Strict):
    """What is remembered. The last five are ours, part of the digest, and may be left out.

    `thread`: what the record is a turn of, in the order of writing; `author`: who said it; `occurred_at`: when, aware.
    """

    text: str
    origin: Origin
    provenance: Provenance
    binding: Binding
    thread: str | None = None
    author: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    occurred_at: datetime | None = None

    def __post_init__(self) -> None:
        check_text(self.text, "text", bytes_max=RECORD_TEXT_BYTES_MAX)
        if self.origin not in ORIGINS:
            raise ValueError(f"origin must be one of {', '.join(ORIGINS)}.")
        object.__setattr__(self, "provenance", Provenance.read(self.provenance))
        object.__setattr__(self, "binding", Binding.read(self.binding))
        for name in ("thread", "author", "title"):
            if getattr(self, name) is not None:
                check_text(getattr(self, name), name, bytes_max=RECORD_NAME_BYTES_MAX)
        tags = _tuple_of_texts(self.tags, "tags", items_max=RECORD_TAGS_MAX, bytes_max=RECORD_TAG_BYTES_MAX)
        object.__setattr__(self, "tags", tags)
        if self.occurred_at is not None:
            object.__setattr__(self, "occurred_at", _check_moment(self.occurred_at))

    def to_wire(self) -> dict[str, Any]:
        """JSON of it; what was left out is absent."""
        ours = {"thread": self.thread, "author": self.author, "title": self.title}
        wire: dict[str, Any] = {
            "text": self.text,
            "origin": self.origin,
            "provenance": {
                "thread_id": self.provenance.thread_id,
                "event_ids": list(self.provenance.event_ids),
            },
            "binding": {"namespace": self.binding.namespace, "record_id": self.binding.record_id},
        }
        wire |= {name: value for name, value in ours.items() if value is not None}
        wire |= {"tags": list(self.tags)} if self.tags else {}
        return wire | ({"occurred_at": to_wire(self.occurred_at)} if self.occurred_at else {})

    def canonical(self) -> bytes:
        """What its digest is taken over: every field, binding and provenance included."""
        return canonical_json(self.to_wire())


def _check_moment(value: object) -> datetime:
    """Raises: TypeError, ValueError. A wire form is taken too, so that a record can be read back."""
    if type(value) is str:
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise TypeError("occurred_at must be an aware time.")
    return value.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class RecordRef(Strict):
    id: str
    version: str

    def __post_init__(self) -> None:
        check_text(self.id, "id", bytes_max=RECORD_ID_BYTES_MAX)
        check_text(self.version, "version", bytes_max=RECORD_VERSION_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class MemoryHit(Strict):
    """`score`: higher is better, comparable within one answer only."""

    id: str
    version: str
    text: str = field(repr=False)
    score: float
    origin: Origin
    binding: Binding

    def __post_init__(self) -> None:
        check_text(self.id, "id", bytes_max=RECORD_ID_BYTES_MAX)
        check_text(self.version, "version", bytes_max=RECORD_VERSION_BYTES_MAX)
        check_text(self.text, "text", bytes_max=POSITIVE_INTEGER_MAX)
        if type(self.score) is not float or self.score != self.score or abs(self.score) == float("inf"):
            raise TypeError("score must be a finite float.")
        if self.origin not in ORIGINS:
            raise ValueError(f"origin must be one of {', '.join(ORIGINS)}.")
        object.__setattr__(self, "binding", Binding.read(self.binding))


@dataclass(frozen=True, slots=True)
class ProviderError(Strict):
    """`sent` False only when the host's own fence refused before anything left. A longer message is cut."""

    code: ErrorCode
    message: str
    sent: bool = True

    def __post_init__(self) -> None:
        if self.code not in ERROR_CODES:
            raise ValueError(f"code must be one of {', '.join(ERROR_CODES)}.")
        if type(self.message) is not str or type(self.sent) is not bool:
            raise TypeError("message must be a string and sent a boolean.")
        object.__setattr__(self, "message", self.message[:PROVIDER_MESSAGE_LENGTH_MAX])

    @property
    def is_uncertain(self) -> bool:
        """Of a write: it may have happened, or not."""
        return self.sent and self.code in ("unavailable", "timeout")


@dataclass(frozen=True, slots=True)
class Ok[T]:
    value: T


@dataclass(frozen=True, slots=True)
class Err:
    error: ProviderError


type Result[T] = Ok[T] | Err


def refuse(message: str) -> Err:
    """`invalid`: the request cannot be done as asked, and nothing happened."""
    return Err(ProviderError("invalid", message))


@runtime_checkable
class MemoryProvider(Protocol):
    async def remember(self, scope: Scope, record: MemoryRecord, key: str) -> Result[RecordRef]:
        """The same key with the same record again gives the same reference, also once it is forgotten; with another, `invalid`."""
        ...

    async def recall(
        self, scope: Scope, query: str, *, k: int = RECALL_HITS_DEFAULT
    ) -> Result[Sequence[MemoryHit]]:
        """At most `k` records of this scope, best first."""
        ...

    async def forget(self, scope: Scope, id: str, key: str) -> Result[None]:
        """Twice succeeds; what never was in this scope is `invalid`."""
        ...


@runtime_checkable
class LooksUp(Protocol):
    """Optional: what makes a `guarded` provider useful."""

    async def lookup(self, scope: Scope, key: str) -> Result[LookedUp]: ...


class ConfigError(Exception):
    """A provider cannot be used as it declares itself."""

    code = "invalid_config"


@dataclass(frozen=True, slots=True)
class BoundProvider:
    """A provider under its name, with what it declares of its writes."""

    name: str
    provider: MemoryProvider
    write_effect: EffectClass
    dedup_window_ms: int | None


def bind_provider(name: str, provider: MemoryProvider) -> BoundProvider:
    """Raises: ConfigError. Source: section 4."""
    effect: EffectClass = getattr(provider, "write_effect", "unguarded")
    window = getattr(provider, "dedup_window_ms", None)
    if effect not in EFFECT_CLASSES:
        raise ConfigError(f"write_effect must be one of {', '.join(EFFECT_CLASSES)}.")
    if effect == "read_only":
        raise ConfigError(
            "write_effect read_only: a write is recorded before it is sent, so its effect is not to read."
        )
    if effect == "idempotent" and not is_positive_integer(window):
        raise ConfigError("write_effect idempotent needs dedup_window_ms, a positive integer.")
    if effect != "idempotent" and window is not None:
        raise ConfigError("dedup_window_ms goes with write_effect idempotent only.")
    return BoundProvider(name, provider, effect, window)
