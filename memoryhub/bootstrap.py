"""The first start of an empty hub: an owner, a project, a store to look at, and the first way in.

Wiring: it calls the verbs of the rooms one after the other. A start that was cut off is taken up again.
"""

from django.conf import settings
from django.utils import timezone

from memoryhub import accounts, keys, projects, tenancy
from memoryhub.actors import Actor
from memoryhub.data_version import read_state, write_state
from memoryhub.embedded.folder import project_folder
from memoryhub.models import ApiKey, Project, User
from stores import memories, memory_stores
from stores.limits import MEMORIES_PER_STORE_MAX, MEMORY_CONTENT_BYTES_MAX
from stores.models import MemoryStore

FIRST_PROJECT = "default"
FIRST_ENVIRONMENT = "development"
OWNER_EMAIL = "owner@localhost"
DEMO_STORE = "MemoryHub handbook"
ACCESS_SCOPES = ["admin"]
START_KEY_NAME = "hub up --json"


def make_first_project() -> bool:
    """Make what an empty hub needs; False when that was done before.

    It counts as begun until hub.json says "first_start": "done", which is when the way in has been shown.
    """
    if Project.objects.exists() and read_state(settings.DATA_DIR).get("first_start") != "begun":
        return False
    write_state(settings.DATA_DIR, first_start="begun")
    _create_demo_store(_owner_actor(_get_or_create_project()))
    return True


def create_access(*, is_first: bool) -> dict[str, str]:
    """A new key of the oldest project and a sign-in link for its owner, both shown once.

    The first key is the owner's to keep; that of a later start lasts until the next. {"project", "environment",
    "api_key", "sign_in_url"}
    """
    project = _get_or_create_project()
    actor = _owner_actor(project)
    environments = {environment.name: environment for environment in tenancy.visible_environments(actor)}
    environment = environments.get(FIRST_ENVIRONMENT) or next(iter(environments.values()))
    if not is_first:
        _revoke_earlier_starts(project, actor)
    name = "first key" if is_first else f"{START_KEY_NAME}, {timezone.now():%Y-%m-%d %H:%M:%S}"
    issued = keys.create_key(environment=environment.name, name=name, scopes=ACCESS_SCOPES, actor=actor)
    token = accounts.create_sign_in_link(_owner_of(project).id)
    return {
        "project": project.name,
        "environment": environment.name,
        "api_key": issued.secret,
        "sign_in_url": f"{settings.BASE_URL}/sign-in/{token}",
    }


def _revoke_earlier_starts(project: Project, actor: Actor) -> None:
    for key in ApiKey.objects.filter(project=project, name__startswith=START_KEY_NAME, revoked_at=None):
        keys.revoke_key(key.wire_id, actor=actor)


def _get_or_create_project() -> Project:
    """The oldest one."""
    project = Project.objects.order_by("id").first()
    return project or projects.create_project(name=FIRST_PROJECT, owner=_get_or_create_owner())


def _get_or_create_owner() -> User:
    owner = User.objects.filter(is_operator=True).order_by("id").first()
    return owner or projects.create_operator(email=OWNER_EMAIL, name="Owner", password=None)


def _owner_of(project: Project) -> User:
    owners = User.objects.filter(memberships__project=project, memberships__role="owner")
    return owners.order_by("id")[0]


def _owner_actor(project: Project) -> Actor:
    return projects.owner_actor(project, _owner_of(project))


def _create_demo_store(actor: Actor) -> None:
    """The product's own documentation as memories, to search, change and throw away."""
    if MemoryStore.objects.filter(project_id=actor.project_id).exists():
        return
    store = memory_stores.create_store(
        environment=FIRST_ENVIRONMENT,
        name=DEMO_STORE,
        description="MemoryHub's own documentation. Change it, search it, delete it: it is yours.",
        metadata={},
        actor=actor,
    )
    for path in sorted((project_folder() / "docs").glob("*.md"))[:MEMORIES_PER_STORE_MAX]:
        content = path.read_text(encoding="utf-8")
        if len(content.encode()) <= MEMORY_CONTENT_BYTES_MAX:
            memories.create_memory(store.wire_id, path=f"/docs/{path.name}", content=content, actor=actor)
