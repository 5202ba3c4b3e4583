"""The verifier that docs/operations.md shows accepts an export and finds a changed row."""

import re
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from tests.world import Tenant


def test_the_documented_lines_verify_an_export(tenant: Tenant, store_id: str, tmp_path: Path) -> None:
    page = (Path(settings.BASE_DIR) / "docs" / "operations.md").read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "verify.py").write_text(program)
    export = tenant.caller("admin", whole=True)("GET", "/v1/audit_events/export").content
    changed = export.replace(b"memory_store.created", b"memory_store.deleted")
    assert changed != export
    codes = []
    for content in (export, changed):
        (tmp_path / "audit.ndjson").write_bytes(content)
        command = [sys.executable, "verify.py", "audit.ndjson"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=30, check=False)
        codes.append(done.returncode)
    assert codes == [0, 1]
