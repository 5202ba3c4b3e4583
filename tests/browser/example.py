"""A project as a customer's would look after some weeks: several people, agents that write, and every state a thing may have.

Arranged by the verbs. `at(days)` says how long ago a step was; tests leave it out, and everything is of now.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from django.conf import settings
from django.test import Client

from memoryhub import accounts, invitations, keys, projects
from memoryhub.accounts import member_actor
from memoryhub.actors import Actor
from memoryhub.models import Membership, Project, User
from memoryhub.session_store import stored_key
from stores import freezes, memories, memory_stores, memory_versions
from stores.models import Memory, MemoryStore, MemoryVersion
from tests.browser.example_records import remember_people
from tests.browser.example_reviews import review_memory
from tests.browser.example_sessions import remember_in_sessions
from tests.browser.example_texts import (
    CODING_NOTES,
    CUSTOMER_NOTES,
    MEETING,
    MEETING_OF_A_PERSON,
    PRICES,
    STEPS,
)
from tests.browser.example_webhooks import add_webhooks
from tests.browser.example_work import do_long_work

ENVIRONMENT = "production"
type At = Callable[[float], AbstractContextManager[None]]


def now(days: float) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass
class Example:
    """`ids`: for each parameter of a URL what it may be, the fullest thing first. `sought`: a text that some versions hold."""

    project: Project
    owner: User
    ids: dict[str, list[str]] = field(default_factory=dict)
    sought: str = "gate 3"

    @property
    def base(self) -> str:
        return f"/p/{self.project.wire_id}/{ENVIRONMENT}"

    def note(self, parameter: str, wire_id: str) -> None:
        self.ids.setdefault(parameter, []).append(wire_id)


@dataclass
class Cast:
    """Who writes in the example, and into what. `steps`: (days ago, what happened); carried out in that order."""

    maya: Actor
    tomas: Actor
    support_agent: Actor
    coding_agent: Actor
    customers: MemoryStore
    coding: MemoryStore
    steps: list[tuple[float, Callable[[], object]]] = field(default_factory=list)

    def add(self, days: float, verb: Callable[..., object], *arguments: object, **named: object) -> None:
        self.steps.append((days, partial(verb, *arguments, **named)))

    def carry_out(self, at: At) -> None:
        for days, step in sorted(self.steps, key=lambda one: -one[0]):
            with at(days):
                step()


def make_example(tag: str, *, at: At = now) -> Example:
    """`tag`: what makes its names differ from those of another example in the same hub."""
    with at(41):
        owner = projects.create_operator(
            email=f"maya{tag}@harborsupply.example", name="Maya Lindqvist", password="correct horse battery"
        )
        project = projects.create_project(name=f"harbor-supply{tag}", owner=owner)
    example = Example(project, owner)
    example.ids |= {"project_id": [project.wire_id], "environment": [ENVIRONMENT]}
    example.ids["other_id"] = [project.environments.get(name=ENVIRONMENT).wire_id]
    with at(40):
        cast = _gather(project, owner, tag)
    _write_customers(example, cast)
    _write_code(example, cast)
    _end_stores(example, cast)
    _let_in(example, tag, cast)
    remember_in_sessions(example.ids, cast.maya, cast.tomas, cast.add)
    cast.add(0.15, remember_people, example.ids, cast.maya)
    cast.add(0.1, review_memory, example.ids, cast.maya)
    cast.add(0.05, add_webhooks, example.ids, "To the desk of the boatyard", cast.maya)
    cast.carry_out(at)
    _note_rest(example)
    do_long_work(project, owner, example.ids, at)
    return example


def _gather(project: Project, owner: User, tag: str) -> Cast:
    maya = member_actor(Membership.objects.get(project=project, user=owner))
    tomas = _join(project, f"tomas{tag}@harborsupply.example", "Tomás Rivera", "developer", maya)
    _join(project, f"aiko{tag}@harborsupply.example", "Aiko Tanaka", "reviewer", maya)
    _join(project, f"sam{tag}@harborsupply.example", "Sam Okafor", "viewer", maya)
    customers = _add_store(
        "Customer notes",
        "What our support agents know of each customer. Kept for as long as the contract runs.",
        maya,
    )
    coding = _add_store(
        "Coding agent: harbor-api", "Conventions, decisions and pitfalls of the harbor-api repository.", maya
    )
    agents = (_add_agent("support-agent", customers, maya), _add_agent("coding-agent", coding, maya))
    return Cast(maya, tomas, *agents, customers, coding)


def _join(project: Project, email: str, name: str, role: str, actor: Actor) -> Actor:
    token = invitations.create_invitation(email=email, role=role, actor=actor).token
    user = invitations.accept_invitation(token, name=name, password="correct horse battery")
    return member_actor(Membership.objects.get(project=project, user=user))


def _add_store(name: str, description: str, actor: Actor) -> MemoryStore:
    return memory_stores.create_store(
        environment=ENVIRONMENT, name=name, description=description, metadata={"team": "support"}, actor=actor
    )


def _add_agent(name: str, store: MemoryStore, actor: Actor) -> Actor:
    issued = keys.create_key(
        environment=ENVIRONMENT, name=name, scopes=["agent"], stores={store.id: "read_write"}, actor=actor
    )
    return keys.key_actor(issued.key)


def _write_customers(example: Example, cast: Cast) -> None:
    store = cast.customers
    for index, (path, content) in enumerate(CUSTOMER_NOTES.items()):
        cast.add(
            30 - index,
            memories.create_memory,
            store.wire_id,
            path=path,
            content=content,
            actor=cast.support_agent,
        )
    for days, text, writer in STEPS:
        cast.add(days, _write, store, next(iter(CUSTOMER_NOTES)), text, getattr(cast, writer))
    cast.add(2, _correct, example, store, cast.maya)
    example.note("store_id", store.wire_id)


def _correct(example: Example, store: MemoryStore, actor: Actor) -> None:
    """A secret is redacted, a memory frozen and one deleted."""
    memory, frozen, gone = (
        _at_path(store, path)
        for path in (next(iter(CUSTOMER_NOTES)), "/policies/refunds.md", "/customers/oldfield/contact.md")
    )
    leak = next(version for version in _versions(memory) if "password" in (version.content or ""))
    reason = "A password of the customer's portal."
    memory_versions.redact_version(store.wire_id, leak.wire_id, reason=reason, actor=actor)
    freezes.freeze_memory(store.wire_id, frozen.wire_id, actor=actor)
    memories.delete_memory(store.wire_id, gone.wire_id, actor=actor)
    for one in (memory, frozen):
        example.note("memory_id", one.wire_id)
    # One that was replaced, a redacted one, that of a deletion.
    for version in (_versions(memory)[0], leak, _versions(gone)[0]):
        example.note("version_id", version.wire_id)


def _write_code(example: Example, cast: Cast) -> None:
    store = cast.coding
    for index, (path, content) in enumerate(CODING_NOTES.items()):
        cast.add(
            20 - index,
            memories.create_memory,
            store.wire_id,
            path=path,
            content=content,
            actor=cast.coding_agent,
        )
    cast.add(0.2, _write, store, MEETING, MEETING_OF_A_PERSON, cast.tomas)
    example.note("store_id", store.wire_id)


def _end_stores(example: Example, cast: Cast) -> None:
    """A frozen store, an archived one and an empty one."""
    cast.add(12.5, _add_prices, example, cast)
    cast.add(11.5, _add_fair, example, cast)
    cast.add(1, lambda: example.note("store_id", _add_store("Onboarding", "", cast.tomas).wire_id))


def _add_prices(example: Example, cast: Cast) -> None:
    store = _add_store(
        "Pricing playbook", "Agreed prices and discounts. Frozen: only people change it.", cast.maya
    )
    memories.create_memory(store.wire_id, path="/2026/list-prices.json", content=PRICES, actor=cast.tomas)
    memory_stores.freeze_store(store.wire_id, actor=cast.maya)
    example.note("store_id", store.wire_id)


def _add_fair(example: Example, cast: Cast) -> None:
    store = _add_store("Trade fair 2025", "Contacts from the stand.", cast.maya)
    leads = "- Brandt Marine: call in spring\n"
    memories.create_memory(store.wire_id, path="/leads.md", content=leads, actor=cast.tomas)
    memory_stores.archive_store(store.wire_id, actor=cast.maya)
    example.note("store_id", store.wire_id)


def _let_in(example: Example, tag: str, cast: Cast) -> None:
    """Keys in each state, an invitation."""
    for days, name in ((25, "crm-sync"), (24.9, "crm-sync (old)")):
        cast.add(days, _add_key, example, name, cast.maya)
    cast.add(3, lambda: keys.revoke_key(example.ids["key_id"][1], actor=cast.maya))
    cast.add(2.9, _invite, example, f"lena{tag}@harborsupply.example", cast.maya)


def _add_key(example: Example, name: str, actor: Actor) -> None:
    issued = keys.create_key(environment=ENVIRONMENT, name=name, scopes=["host"], actor=actor)
    example.note("key_id", issued.key.wire_id)


def _invite(example: Example, email: str, actor: Actor) -> None:
    invited = invitations.create_invitation(email=email, role="viewer", actor=actor)
    example.note("invitation_id", invited.invitation.wire_id)
    example.note("invitation token", invited.token)


def _note_rest(example: Example) -> None:
    example.note("session_key", stored_key(_new_session(example.owner)))
    example.note("sign-in token", accounts.create_sign_in_link(example.owner.id))
    members = Membership.objects.filter(project=example.project).exclude(user=example.owner)
    for member in members.order_by("id"):
        example.note("member_id", member.wire_id)


def _new_session(user: User) -> str:
    """In another browser."""
    client = Client(headers={"user-agent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_7) Firefox/134.0"})
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _at_path(store: MemoryStore, path: str) -> Memory:
    return Memory.objects.get(store=store, path=path)


def _write(store: MemoryStore, path: str, content: str, actor: Actor) -> None:
    memories.update_memory(store.wire_id, _at_path(store, path).wire_id, content=content, actor=actor)


def _versions(memory: Memory) -> list[MemoryVersion]:
    """Newest first."""
    return list(MemoryVersion.objects.filter(memory_id=memory.id).order_by("-number"))
