"""What a crash test does within the hub's own code: `python -m tests.crash.inside prepare | seal | verify`.

A process of its own, since this one's Django is bound to another database.
"""

import json
import os
import sys
import time
from typing import Any


def main(command: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    import django

    django.setup()
    {"prepare": prepare, "seal": seal, "verify": verify}[command]()


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


def verify() -> None:
    """Seal what is left and walk every chain; prints {"faults", "sealed"}."""
    from memoryhub import audit
    from memoryhub.models import AuditEvent, Project

    audit.seal_all()
    faults = [
        str(fault) for project in Project.objects.all() for fault in audit.find_chain_faults(project.id)
    ]
    unsealed = AuditEvent.objects.filter(chain_index=None).count()
    faults += [f"{unsealed} audit rows stay unsealed"] if unsealed else []
    _print({"faults": faults, "sealed": AuditEvent.objects.count()})


def _print(facts: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
