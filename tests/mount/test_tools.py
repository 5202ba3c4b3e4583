"""The file tools: where they go, what they refuse, and that bytes stay as they are."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stores.mount.roots import Mount
from stores.mount.tools import NOTHING, Toolset
from stores.mount.tools_bash import OUTPUT_BYTES_MAX
from stores.mount.tools_files import FILE_BYTES_MAX, WRITTEN_BYTES_MAX
from stores.mount.tools_paths import ToolError
from stores.mount.tools_search import GLOB_RESULTS_MAX, GREP_LINE_LENGTH_MAX, GREP_OUTPUT_BYTES_MAX

ROOT = Path(__file__).resolve().parents[2]
SECRET = "the text of somebody else\n"


@dataclass
class Desk:
    base: Path
    tools: Toolset

    @property
    def work(self) -> Path:
        return self.base / "work"

    @property
    def notes(self) -> Path:
        return self.base / "memory" / "notes"

    @property
    def rules(self) -> Path:
        return self.base / "memory" / "rules"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    def call(self, name: str, **arguments: Any) -> str:
        plain = {key: str(value) if isinstance(value, Path) else value for key, value in arguments.items()}
        return self.tools.call(name, plain)

    def refused(self, name: str, **arguments: Any) -> str:
        with pytest.raises(ToolError) as caught:
            self.call(name, **arguments)
        return str(caught.value)


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    base = tmp_path.resolve()
    for name in ("work", "memory/notes", "memory/rules", "outside"):
        (base / name).mkdir(parents=True)
    (base / "outside" / "secret").write_text(SECRET)
    (base / "memory" / "rules" / "a.md").write_bytes(b"rule\r\n")
    mounts = [Mount(base / "memory/notes", False, "Notes"), Mount(base / "memory/rules", True, "House rules")]
    with Toolset(base / "work", mounts) as tools:
        yield Desk(base, tools)


def test_bytes_stay_as_they_are(desk: Desk) -> None:
    text = "\ufeffone\r\ntwo\rthree\n\n  é \u2028 x"
    desk.call("write", file_path=desk.notes / "deep" / "er" / "a.md", content=text)
    assert (desk.notes / "deep/er/a.md").read_bytes() == text.encode()
    assert desk.call("read", file_path=desk.notes / "deep/er/a.md") == text
    desk.call("edit", file_path=desk.notes / "deep/er/a.md", old_string="\r\ntwo", new_string="\r\nzwei")
    assert (desk.notes / "deep/er/a.md").read_bytes() == text.replace("two", "zwei").encode()
    assert os.listdir(desk.notes / "deep/er") == ["a.md"], "nothing is left beside it"


def test_relative_paths_begin_at_the_working_directory(desk: Desk) -> None:
    desk.call("write", file_path="a/./b/../c.txt", content="x")
    assert (desk.work / "a/c.txt").read_text() == "x"
    assert "outside the working directory" in desk.refused("read", file_path="../outside/secret")
    assert "outside the working directory" in desk.refused(
        "read", file_path=f"a/../../{desk.outside.name}/secret"
    )


def _link(path: Path, target: Path | str) -> Path:
    path.symlink_to(target)
    return path


@pytest.mark.parametrize("tool", ["read", "write", "edit"])
def test_no_link_leads_outside(desk: Desk, tool: str) -> None:
    leads = {
        "a file": _link(desk.work / "file", desk.outside / "secret"),
        "a directory": _link(desk.work / "folder", desk.outside) / "secret",
        "a link to a link": _link(desk.work / "second", "file"),
        "a dangling one": _link(desk.work / "dangling", desk.outside / "new"),
        "one up": _link(desk.work / "up", "../outside") / "secret",
        "into a new directory": _link(desk.work / "made", desk.outside / "made") / "new",
    }
    more = {"write": {"content": "x"}, "edit": {"old_string": "text", "new_string": "x"}}.get(tool, {})
    for case, path in leads.items():
        assert "outside" in desk.refused(tool, file_path=path, **more), case
    assert os.listdir(desk.outside) == ["secret"]
    assert (desk.outside / "secret").read_text() == SECRET


def test_links_inside_are_followed_and_kept(desk: Desk) -> None:
    _link(desk.work / "notes", desk.notes)
    _link(desk.work / "later", desk.notes / "later.md")
    desk.call("write", file_path="notes/a.md", content="one")
    desk.call("write", file_path="later", content="two")
    assert (desk.notes / "a.md").read_text() == "one" and (desk.notes / "later.md").read_text() == "two"
    assert (desk.work / "later").is_symlink(), "the file that it leads to was written"
    loop = _link(desk.work / "loop", "loop")
    assert "circle" in desk.refused("read", file_path=loop)


@pytest.mark.parametrize(
    ("tool", "more"), [("write", {"content": "x"}), ("edit", {"old_string": "rule", "new_string": "x"})]
)
def test_a_read_only_store_refuses_by_the_resolved_path_and_names_both(
    desk: Desk, tool: str, more: dict[str, str]
) -> None:
    ways = [
        desk.rules / "a.md",
        desk.notes / ".." / "rules" / "a.md",
        _link(desk.work / "rules", desk.rules) / "a.md",
        _link(desk.notes / "rule.md", desk.rules / "a.md"),
        _link(desk.notes / "new.md", desk.rules / "new.md"),
        desk.rules / "sub" / "new.md",
    ]
    for path in ways:
        said = desk.refused(tool, file_path=path, **more)
        assert str(path) in said and str(desk.rules) in said and "House rules" in said and "read-only" in said
    assert os.listdir(desk.rules) == ["a.md"] and (desk.rules / "a.md").read_bytes() == b"rule\r\n"
    assert desk.call("read", file_path=desk.rules / "a.md") == "rule\r\n"


def test_a_name_that_begins_like_a_root_is_not_in_it(desk: Desk) -> None:
    (desk.base / "work-2").mkdir()
    assert "outside" in desk.refused("write", file_path=desk.base / "work-2" / "x", content="")


def test_what_is_no_file_is_neither_read_nor_replaced(desk: Desk) -> None:
    os.mkfifo(desk.work / "pipe")
    (desk.work / "folder").mkdir()
    for name in ("pipe", "folder", ".", desk.notes):
        desk.refused("read", file_path=name)
        desk.refused("write", file_path=name, content="x")
    assert "no such file" in desk.refused("read", file_path="missing")
    assert "no such file" in desk.refused("edit", file_path="missing/a", old_string="a", new_string="b")
    assert not (desk.work / "missing").exists()
    (desk.work / "file").write_text("x")
    assert "no directory" in desk.refused("write", file_path="file/below", content="x")


def test_a_whole_file_is_read_up_to_its_limit_and_lines_of_a_larger_one(desk: Desk) -> None:
    line = b"x" * 99 + b"\n"
    (desk.work / "most").write_bytes(b"a" * FILE_BYTES_MAX)
    (desk.work / "more").write_bytes(line * (FILE_BYTES_MAX // 100 + 1))
    assert len(desk.call("read", file_path="most")) == FILE_BYTES_MAX
    assert "view_range" in desk.refused("read", file_path="more")
    assert "view_range" in desk.refused("edit", file_path="more", old_string="x", new_string="y")
    assert desk.call("read", file_path="more", view_range=[2, 3]) == (line * 2).decode()
    assert desk.call("read", file_path="more", view_range=[2_622, -1]) == line.decode()
    assert "fewer" in desk.refused("read", file_path="more", view_range=[1, -1])
    for wrong in ([0, 1], [2, 1], [1], [1, 2, 3], [1, "2"], [True, 2]):
        desk.refused("read", file_path="more", view_range=wrong)


def test_a_file_is_written_up_to_its_limit_and_in_a_mount_to_that_of_a_memory(desk: Desk) -> None:
    desk.call("write", file_path=desk.notes / "a", content="é" * 51_200)
    said = desk.refused("write", file_path=desk.notes / "a", content="é" * 51_200 + "x")
    assert "102401 bytes" in said and "the store Notes" in said
    assert (desk.notes / "a").stat().st_size == 102_400
    desk.call("write", file_path="a", content="x" * WRITTEN_BYTES_MAX)
    desk.refused("write", file_path="b", content="x" * (WRITTEN_BYTES_MAX + 1))
    assert sorted(os.listdir(desk.work)) == ["a"]


def test_an_edit_needs_its_passage_once_or_replaces_all(desk: Desk) -> None:
    desk.call("write", file_path="a", content="one two one")
    assert "2 times" in desk.refused("edit", file_path="a", old_string="one", new_string="1")
    assert "not in it" in desk.refused("edit", file_path="a", old_string="three", new_string="1")
    desk.refused("edit", file_path="a", old_string="", new_string="1")
    desk.call("edit", file_path="a", old_string="one", new_string="1", replace_all=True)
    assert (desk.work / "a").read_text() == "1 two 1"


def test_an_edit_of_what_somebody_else_changed_meanwhile_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stores.mount import tools

    desk.call("write", file_path="a", content="one")
    read = tools.read_whole

    def read_and_change(place: Any) -> Any:
        found = read(place)
        (desk.work / "a").write_text("of somebody else")
        return found

    monkeypatch.setattr(tools, "read_whole", read_and_change)
    assert "changed it meanwhile" in desk.refused("edit", file_path="a", old_string="one", new_string="1")
    assert (desk.work / "a").read_text() == "of somebody else"


def test_a_file_keeps_its_mode_and_another_name_of_it_its_text(desk: Desk) -> None:
    desk.call("write", file_path="run", content="old")
    (desk.work / "run").chmod(0o750)
    os.link(desk.work / "run", desk.outside / "linked")
    desk.call("write", file_path="run", content="new")
    assert (desk.work / "run").stat().st_mode & 0o777 == 0o750
    assert (desk.outside / "linked").read_text() == "old"


def test_text_that_is_none_is_refused(desk: Desk) -> None:
    (desk.work / "binary").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in desk.refused("read", file_path="binary")
    for bad in ("a\0b", "", "x" * 4_097, "\ud800"):
        desk.refused("read", file_path=bad)
    assert "half a character" in desk.refused("write", file_path="a", content="\ud800")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {}),
        ("read", {"file_path": 1}),
        ("read", {"file_path": "a", "encoding": "x"}),
        ("write", {"file_path": "a"}),
        ("edit", {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": "yes"}),
        ("bash", {"command": ""}),
        ("bash", {"command": "true", "timeout_ms": 0}),
        ("bash", {"command": "true", "timeout_ms": True}),
        ("glob", {"pattern": "x" * 1_025}),
        ("grep", {"pattern": "x" * 1_025}),
        ("delete", {}),
    ],
)
def test_arguments_of_another_form_are_refused(desk: Desk, name: str, arguments: dict[str, Any]) -> None:
    desk.refused(name, **arguments)


def test_files_are_found_newest_first_and_a_bounded_number_of_them(desk: Desk) -> None:
    for index in range(GLOB_RESULTS_MAX + 1):
        path = desk.notes / f"{index % 3}" / f"{index}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        os.utime(path, (index, index))
    found = desk.call("glob", pattern="**/*.md", path=desk.notes).split("\n")
    assert len(found) == GLOB_RESULTS_MAX + 1 and "left out" in found[-1]
    assert found[0] == str(desk.notes / f"{GLOB_RESULTS_MAX % 3}" / f"{GLOB_RESULTS_MAX}.md")
    assert not any(line.endswith("/0.md") for line in found)
    assert desk.call("glob", pattern="0/?.md", path=desk.notes).count("\n") == 3
    assert desk.call("glob", pattern="*.md", path=desk.notes) == NOTHING


def test_a_search_of_files_goes_through_no_link_out(desk: Desk) -> None:
    _link(desk.work / "out", desk.outside)
    _link(desk.work / "file", desk.outside / "secret")
    _link(desk.work / "in", desk.rules / "a.md")
    (desk.work / ".hidden").write_text("x")
    found = desk.call("glob", pattern="**").split("\n")
    assert sorted(found) == [str(desk.work / ".hidden"), str(desk.work / "in")]
    for pattern in ("../*", "/etc/*", "a/../../*", "", "."):
        desk.refused("glob", pattern=pattern)
    assert desk.call("grep", pattern="somebody") == NOTHING
    assert "outside" in desk.refused("grep", pattern="x", path="out")
    assert "outside" in desk.refused("glob", pattern="*", path="file")


def test_lines_are_found_with_their_numbers(desk: Desk) -> None:
    desk.call("write", file_path=desk.notes / "a.md", content="one\r\ntwo é\nthree")
    (desk.notes / "binary").write_bytes(b"\0two")
    (desk.notes / ".git").mkdir()
    (desk.notes / ".git" / "x").write_text("two")
    assert desk.call("grep", pattern="t[wh].*", path=desk.notes) == (
        f"{desk.notes}/a.md:2:two é\n{desk.notes}/a.md:3:three"
    )
    assert desk.call("grep", pattern="^one$", path=desk.notes / "a.md") == f"{desk.notes}/a.md:1:one"
    assert "pattern:" in desk.refused("grep", pattern="(")
    assert "no such file" in desk.refused("grep", pattern="x", path=desk.notes / "missing" / "a")


def test_what_is_found_is_bounded(desk: Desk) -> None:
    desk.call(
        "write",
        file_path="long",
        content="x" * (GREP_LINE_LENGTH_MAX + 1) + "\n" + "x" * GREP_LINE_LENGTH_MAX,
    )
    first, second = desk.call("grep", pattern="x").split("\n")
    assert first.endswith("x…") and len(first.rpartition(":")[2]) == GREP_LINE_LENGTH_MAX + 1
    assert len(second.rpartition(":")[2]) == GREP_LINE_LENGTH_MAX
    desk.call("write", file_path="many", content="y\n" * 20_000)
    found = desk.call("grep", pattern="y")
    assert len(found.encode()) <= GREP_OUTPUT_BYTES_MAX + 100 and found.endswith("left out]")


def test_an_expression_that_never_ends_is_ended(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stores.mount.tools_search.GREP_SECONDS_MAX", 0.5)
    desk.call("write", file_path="a", content="a" * 60 + "!")
    assert "longer than 0.5 seconds" in desk.refused("grep", pattern="(a+)+$")


def test_a_command_runs_in_the_working_directory_without_credentials(desk: Desk) -> None:
    assert desk.call("bash", command="pwd") == f"{desk.work}\n"
    assert desk.refused("bash", command="echo out; echo err >&2; exit 3") == "bash: Exit code 3.\nout\nerr\n"
    assert desk.call("bash", command="cat") == "", "it reads nothing"
    given = {
        "MEMORYHUB_KEY": "x", "ANTHROPIC_API_KEY": "x", "GITHUB_TOKEN": "x", "DATABASE_URL": "x", "MY_SECRET": "x",
        "DB_PASSWORD": "x", "AWS_ACCESS_KEY_ID": "x", "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "MONKEY": "kept",
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        with Toolset(desk.work, []) as tools:
            names = {line.partition("=")[0] for line in tools.bash("env").splitlines()}
    assert names.isdisjoint(list(given)[:7]) and {"PATH", "LANG", "MONKEY"} <= names
    with Toolset(desk.work, [], environment={"ONLY": "this"}) as tools:
        assert "ONLY=this" in tools.bash("env") and "PATH=/" not in tools.bash("env | grep ^HOME; true")


def test_what_a_command_prints_is_bounded(desk: Desk) -> None:
    printed = desk.call("bash", command=f"head -c {OUTPUT_BYTES_MAX} /dev/zero | tr '\\0' x")
    assert len(printed) == OUTPUT_BYTES_MAX
    cut = desk.call("bash", command=f"printf first; head -c {OUTPUT_BYTES_MAX} /dev/zero | tr '\\0' x")
    assert cut == "[the beginning is left out]\n" + printed


def _runs(mark: str) -> bool:
    found = subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False)
    return found.returncode == 0


def _ends(mark: str) -> bool:
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if not _runs(mark):
            return True
        time.sleep(0.05)
    return False


def test_a_command_that_takes_too_long_is_killed_with_all_that_it_started(desk: Desk) -> None:
    marks = ["86401.25", "86402.25"]
    command = f"sleep {marks[0]} & (sleep {marks[1]} & wait) & echo begun; wait"
    said = desk.refused("bash", command=command, timeout_ms=3_000)
    assert "longer than 3 seconds" in said and said.endswith("begun\n")
    assert all(_ends(mark) for mark in marks)


def test_what_a_command_leaves_behind_is_ended_with_it(desk: Desk) -> None:
    began = time.monotonic()
    assert desk.call("bash", command="sleep 86403.25 & echo done") == "done\n"
    assert time.monotonic() - began < 30 and _ends("86403.25")


def test_who_closes_the_tools_ends_what_runs(desk: Desk) -> None:
    import threading

    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(desk.refused("bash", command="sleep 86404.25")))
    thread.start()
    until = time.monotonic() + 10
    while not _runs("86404.25") and time.monotonic() < until:
        time.sleep(0.02)
    desk.tools.close()
    thread.join(10)
    assert len(said) == 1 and _ends("86404.25")
    assert "ended" in desk.refused("bash", command="true")


def test_tools_are_not_made_before_the_stores_are_there(desk: Desk) -> None:
    with pytest.raises(ValueError, match="mount the stores before"):
        Toolset(desk.work, [Mount(desk.base / "memory" / "later", False, "Later")])
    with pytest.raises(ValueError, match="no directory"):
        Toolset(desk.outside / "secret", [])


def test_a_root_behind_a_link_is_taken_for_what_it_is_and_no_longer_when_it_changes(desk: Desk) -> None:
    way = _link(desk.base / "way", desk.notes)
    tools = Toolset(desk.work, [Mount(way, False, "Notes")])
    tools.call("write", {"file_path": str(way / "a.md"), "content": "x"})
    assert (desk.notes / "a.md").read_text() == "x"
    way.unlink()
    _link(way, desk.outside)
    with pytest.raises(ToolError, match="outside"):
        tools.call("read", {"file_path": str(way / "secret")})


def test_the_library_needs_no_framework() -> None:
    code = "import sys, stores.mount.tools; print([name for name in sys.modules if name.split('.')[0] in ('django', 'mcp', 'celery')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
