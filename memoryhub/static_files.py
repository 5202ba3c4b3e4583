"""Scripts and styles, collected into the data folder under names that carry their digest."""

from collections.abc import Iterator
from pathlib import Path

from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage

from memoryhub import __version__
from memoryhub.data_version import digest_files, read_state, write_state


class HashedFiles(CompressedManifestStaticFilesStorage):
    """What one module imports from another is named with its digest too."""

    support_js_module_import_aggregation = True


def collect_if_changed(data_dir: Path) -> None:
    """Collect when a file, its time or the hub's version changed since, or the result is gone."""
    digest = digest_files(_list_sources(), also=__version__)
    manifest = data_dir / "static" / "staticfiles.json"
    if manifest.exists() and read_state(data_dir).get("static") == digest:
        return
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    write_state(data_dir, static=digest)


def _list_sources() -> Iterator[Path]:
    for finder in get_finders():
        for name, storage in finder.list([]):
            yield Path(storage.path(name))
