"""Which files were moved: one path gone and another new with the same bytes. Pure."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from posixpath import basename


@dataclass(frozen=True, slots=True, order=True)
class Rename:
    old: str
    new: str
    digest: str


def find_renames(gone: Mapping[str, str], new: Mapping[str, str]) -> list[Rename]:
    """`gone`, `new`: path -> digest. Only what can mean one thing: the only pair of its bytes, or of its bytes and name."""
    by_digest = _group(gone, new, lambda path, digest: digest)
    by_name = _group(gone, new, lambda path, digest: f"{digest} {basename(path)}")
    pairs: dict[str, str] = {}
    for olds, news in (*by_name.values(), *by_digest.values()):
        if len(olds) == len(news) == 1:
            pairs.setdefault(olds[0], news[0])
    return _each_target_once(pairs, gone)


def _each_target_once(pairs: Mapping[str, str], gone: Mapping[str, str]) -> list[Rename]:
    taken: set[str] = set()
    found = []
    for old, path in pairs.items():
        if path not in taken:
            taken.add(path)
            found.append(Rename(old, path, gone[old]))
    return sorted(found)


type Groups = dict[str, tuple[list[str], list[str]]]


def _group(gone: Mapping[str, str], new: Mapping[str, str], key_of: Callable[[str, str], str]) -> Groups:
    groups: Groups = defaultdict(lambda: ([], []))
    for side, paths in enumerate((gone, new)):
        for path, digest in paths.items():
            groups[key_of(path, digest)][side].append(path)
    return groups
