"""A text erased wherever it stands, as people do it: first what would go, all of it, and then exactly that.

`redactions` looks at a bounded part of the history at a time; here the parts are walked, up to a bound of their own. The
run erases what was shown and stops at anything else, so that nothing goes that nobody looked at.
"""

from collections.abc import Callable
from dataclasses import replace

from memoryhub.actors import Actor
from memoryhub.digests import canonical_json, sha256_hex
from memoryhub.erasure import Sought
from memoryhub.errors import Conflict
from memoryhub.pagination import ListRequest, Page
from stores import redactions
from stores.redactions import Found, Heads, Redaction

RUN_PARTS_MAX = 40
RUN_VERSIONS_MAX = 1_000


def find_versions(page: ListRequest, *, sought: Sought, store_id: str | None, actor: Actor) -> Page[Found]:
    """The next versions that hold what is sought; parts without any are passed over. Raises: NotFound, InvalidRequest."""
    for _ in range(RUN_PARTS_MAX):
        found = redactions.search_versions(
            page, sought=sought, environment=None, store_id=store_id, actor=actor
        )
        if found.rows or found.next_page is None:
            break
        page = replace(page, page=found.next_page)
    return found


def plan_run(page: ListRequest, *, sought: Sought, store_id: str | None, actor: Actor) -> Redaction:
    """What stands there, as a run that may delete memories would leave it. Raises: NotFound, InvalidRequest."""

    def plan_part(part: ListRequest) -> Redaction:
        return redactions.redact_text(
            part,
            sought=sought,
            environment=None,
            store_id=store_id,
            heads="delete",
            dry_run=True,
            reason=None,
            shown=None,
            actor=actor,
        )

    return _walk(page, plan_part)


def plan_digest(plan: Redaction) -> str:
    """Of the versions that were found and what each is, and of the records that would go: two plans of the same are alike."""
    standing = sorted([key.hex, is_head] for key, is_head in plan.standings())
    records = sorted(record["id"] for record in plan.elsewhere.deleted)
    return sha256_hex(canonical_json([standing, records, plan.next_page is None]))


def carry_out_run(
    page: ListRequest,
    *,
    sought: Sought,
    store_id: str | None,
    heads: Heads,
    reason: str | None,
    expected_plan: str,
    actor: Actor,
) -> Redaction:
    """Erase what the plan of that digest named. Raises: NotFound, InvalidRequest, Conflict when it is no longer so."""
    plan = plan_run(page, sought=sought, store_id=store_id, actor=actor)
    if plan_digest(plan) != expected_plan:
        raise Conflict("What was found changed since it was shown: look at it again.")
    shown = plan.standings()

    def redact_part(part: ListRequest) -> Redaction:
        return redactions.redact_text(
            part,
            sought=sought,
            environment=None,
            store_id=store_id,
            heads=heads,
            dry_run=False,
            reason=reason,
            shown=shown,
            actor=actor,
        )

    return _walk(page, redact_part)


def _walk(page: ListRequest, do_part: Callable[[ListRequest], Redaction]) -> Redaction:
    """The parts together. A conflict in a later one ends the walk: what is done stays, and says where it ended."""
    whole = Redaction()
    for _ in range(RUN_PARTS_MAX):
        try:
            part = do_part(page)
        except Conflict:
            if not whole.versions:
                raise
            return replace(whole, next_page=page.page)
        whole = Redaction(
            whole.redacted + part.redacted,
            whole.deleted + part.deleted,
            whole.left + part.left,
            part.next_page,
            whole.elsewhere.and_also(part.elsewhere),
        )
        if part.next_page is None or len(whole.versions) >= RUN_VERSIONS_MAX:
            break
        page = replace(page, page=part.next_page)
    return whole
