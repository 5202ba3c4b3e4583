"""What a space is bound to for ever: contract, profile, realm, name."""

from dataclasses import dataclass
from typing import Any, Literal

from authority.canonical import digest_of, has_exact_keys, is_code, is_digest, text_of
from authority.failures import ProfileError, ValidationTypeError

type ProfileKind = Literal["canonical", "working"]
type Wire = dict[str, Any]

CONTRACT_ID = "memoryhub.contract.v1"
CONTRACT = {"contractId": CONTRACT_ID, "graphFormatVersion": 1, "recordFormatVersion": 1, "v": 1}
CONTRACT_SHA256 = digest_of(CONTRACT)

_PROFILE = frozenset(
    {"applicationProfileSha256", "capabilities", "profileId", "profileKind", "profileSha256", "v"}
)
_ALWAYS = ("changesSince", "dependencyClosureExport", "exactSnapshots", "semanticBundleCommit")
_CAPABILITIES = frozenset({*_ALWAYS, "operationReplication", "wholeSpacePurge", "v"})
_BINDING = frozenset({"bindingSha256", "contractSha256", "profile", "realmId", "spaceId", "v"})


@dataclass(frozen=True, slots=True)
class Binding:
    """`text`: its canonical bytes, digest included."""

    kind: ProfileKind
    realm_id: str
    space_id: str
    sha256: str
    text: bytes


def sealed(fields: Wire, digest_name: str) -> Wire:
    """An object with its digest under that name."""
    return {**fields, digest_name: digest_of(fields)}


def make_binding(kind: ProfileKind, *, realm_id: str, space_id: str) -> Binding:
    """Raises: ValidationTypeError for a name that is no safe code."""
    return parse_binding(
        sealed(
            {
                "contractSha256": CONTRACT_SHA256,
                "profile": make_profile(kind),
                "realmId": realm_id,
                "spaceId": space_id,
                "v": 1,
            },
            "bindingSha256",
        )
    )


def make_profile(kind: ProfileKind) -> Wire:
    """A built-in profile: what is reviewed may be replicated, what an agent works with may be purged as a whole."""
    capabilities = {
        **dict.fromkeys(_ALWAYS, True),
        "operationReplication": kind == "canonical",
        "wholeSpacePurge": kind == "working",
        "v": 1,
    }
    fields = {
        "applicationProfileSha256": None,
        "capabilities": capabilities,
        "profileId": f"memoryhub.store.{kind}.v1",
        "profileKind": kind,
        "v": 1,
    }
    return sealed(fields, "profileSha256")


def parse_binding(value: Any) -> Binding:
    """Raises: ValidationTypeError, ProfileError for a profile whose rights contradict its kind."""
    if (
        not has_exact_keys(value, _BINDING)
        or value["contractSha256"] != CONTRACT_SHA256
        or not is_code(value["realmId"])
        or not is_code(value["spaceId"])
    ):
        raise ValidationTypeError("Invalid store binding.")
    kind = _parse_profile(value["profile"])
    require_seal(value, "bindingSha256", "Invalid store binding.")
    return Binding(kind, value["realmId"], value["spaceId"], value["bindingSha256"], text_of(value))


def _parse_profile(value: Any) -> ProfileKind:
    if not has_exact_keys(value, _PROFILE) or not has_exact_keys(value["capabilities"], _CAPABILITIES):
        raise ValidationTypeError("Invalid store profile.")
    kind, capabilities, application = (
        value["profileKind"],
        value["capabilities"],
        value["applicationProfileSha256"],
    )
    flags = [capabilities["operationReplication"], capabilities["wholeSpacePurge"]]
    if (
        kind not in ("canonical", "working")
        or not is_code(value["profileId"])
        or not (application is None or is_digest(application))
        or not all(capabilities[name] is True for name in _ALWAYS)
        or not all(type(flag) is bool for flag in flags)
    ):
        raise ValidationTypeError("Invalid store profile.")
    if kind == "working" and flags != [False, True]:
        raise ProfileError(
            "A working profile must disable operation replication and permit whole-space purge."
        )
    if kind == "canonical" and flags[1]:
        raise ProfileError("A canonical profile cannot permit whole-space purge.")
    require_seal(value, "profileSha256", "Invalid store profile.")
    known: ProfileKind = "working" if kind == "working" else "canonical"
    return known


def require_seal(value: Wire, digest_name: str, message: str) -> None:
    """Raises: ValidationTypeError when the digest is not that of the other fields."""
    fields = {name: inner for name, inner in value.items() if name != digest_name}
    if value[digest_name] != digest_of(fields):
        raise ValidationTypeError(message)
