"""What a crash test does within the hub's own code: `python -m tests.crash.inside prepare | seal | verify | ask KIND ID`.

A process of its own, since this one's Django is bound to another database.
"""

import json
import os
import sys
import time
from typing import Any


def main(command: str, *arguments: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    import django

    django.setup()
    {"prepare": prepare, "seal": seal, "verify": verify, "ask": ask}[command](*arguments)


def prepare() -> None:
    """Make the tables and a project; prints {"key"}."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from tests.world import make_tenant

    _print({"key": make_tenant().key})


def seal() -> None:
    """Seal the audit trail again and again, over lost connections, until killed."""
    from django.db import DatabaseError, InterfaceError, connection

    from memoryhub import audit

    while True:
        try:
            audit.seal_all()
        except (DatabaseError, InterfaceError):
            connection.close()
        time.sleep(0.02)


def ask(kind: str, argument: str) -> None:
    """For long work, as the owner of the store's project would; prints {"job"}. `argument`: a store's id, or an archive."""
    from memoryhub import projects
    from memoryhub.models import Membership
    from stores import store_jobs

    membership = Membership.objects.select_related("project", "user").get(role="owner")
    actor = projects.owner_actor(membership.project, membership.user)
    if kind == "export_store":
        job = store_jobs.start_export(argument, actor=actor)
    else:
        with open(argument, "rb") as tar:
            job = store_jobs.start_import(tar, environment="development", name="Imported", actor=actor)
    _print({"job": str(job.id)})


# The races and crashes change memories in no other way than these, so each version has its audit row.
UNPAIRED = """
SELECT coalesce(v.memory, a.memory)
  FROM (SELECT 'mem_' || replace(memory_id::text, '-', '') AS memory, count(*) FROM stores_memoryversion GROUP BY 1) v
  FULL JOIN (SELECT subject_id AS memory, count(*) FROM memoryhub_auditevent
              WHERE action IN ('memory.created', 'memory.updated', 'memory.deleted') GROUP BY 1) a USING (memory)
 WHERE v.count IS DISTINCT FROM a.count LIMIT 3
"""


def verify() -> None:
    """Ask every invariant of the database; prints {"faults"}."""
    from django.db import connection

    from memoryhub import integrity

    faults = [
        f"{finding.invariant.name}: {fault}" for finding in integrity.check_all() for fault in finding.faults
    ]
    with connection.cursor() as cursor:
        cursor.execute(UNPAIRED)
        faults += [f"a version without its audit row, or the reverse: {row[0]}" for row in cursor.fetchall()]
    _print({"faults": faults})


def _print(facts: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
