"""What each tool is, takes and does, as data: one place for the library, the server and a model's list of tools."""

from dataclasses import dataclass
from typing import Any

from stores.mount.tools_bash import COMMAND_LENGTH_MAX, OUTPUT_BYTES_MAX, SECONDS_DEFAULT, SECONDS_MAX
from stores.mount.tools_files import FILE_BYTES_MAX
from stores.mount.tools_paths import ToolError
from stores.mount.tools_search import GLOB_RESULTS_MAX, GREP_OUTPUT_BYTES_MAX, PATTERN_LENGTH_MAX

_TYPES: dict[str, type[Any] | tuple[type[Any], ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "array": list,
}


@dataclass(frozen=True, slots=True)
class Spec:
    """`required`: the first of the properties. `reads_only`, `destroys`, `repeats`, `is_open`: the hints of MCP."""

    name: str
    title: str
    description: str
    properties: dict[str, dict[str, Any]]
    required: int
    reads_only: bool
    destroys: bool
    repeats: bool
    is_open: bool = False

    @property
    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.properties)[: self.required],
            "additionalProperties": False,
        }


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


_FILE = _text("Path of the file; a relative one begins at the working directory.")
_FOLDER = _text("Directory to look in; the working directory when left out.")

SPECS = {
    spec.name: spec
    for spec in (
        Spec(
            "read",
            "Read a file",
            f"Read a UTF-8 text file as it is, at most {FILE_BYTES_MAX} bytes.",
            {
                "file_path": _FILE,
                "view_range": {
                    "type": "array",
                    "items": {"type": "integer"},
                    "minItems": 2,
                    "maxItems": 2,
                    "description": "[first, last] line to read, from 1 on; -1 is the last line.",
                },
            },
            1,
            reads_only=True,
            destroys=False,
            repeats=True,
        ),
        Spec(
            "write",
            "Write a file",
            "Make a file, or replace all of it; directories that are missing are made. A read-only store refuses.",
            {"file_path": _FILE, "content": _text("The whole text.")},
            2,
            reads_only=False,
            destroys=True,
            repeats=True,
        ),
        Spec(
            "edit",
            "Edit a file",
            "Replace a passage of a file by another; it must stand there exactly once, or all are replaced. A read-only store refuses.",
            {
                "file_path": _FILE,
                "old_string": _text("The passage, letter by letter.", minLength=1),
                "new_string": _text("What stands in its place."),
                "replace_all": {"type": "boolean", "description": "Replace every place where it stands."},
            },
            3,
            reads_only=False,
            destroys=True,
            repeats=False,
        ),
        Spec(
            "glob",
            "Find files",
            f"Paths of files that fit a pattern such as **/*.md, newest first, at most {GLOB_RESULTS_MAX}.",
            {
                "pattern": _text("Relative; ** is any number of directories.", maxLength=PATTERN_LENGTH_MAX),
                "path": _FOLDER,
            },
            1,
            reads_only=True,
            destroys=False,
            repeats=True,
        ),
        Spec(
            "grep",
            "Find lines",
            f"Lines of files in which a regular expression (of Python) is found, as path:number:line, at most {GREP_OUTPUT_BYTES_MAX} bytes.",
            {
                "pattern": _text("The expression.", maxLength=PATTERN_LENGTH_MAX),
                "path": _text("File or directory to look in; the working directory when left out."),
            },
            1,
            reads_only=True,
            destroys=False,
            repeats=True,
        ),
        Spec(
            "bash",
            "Run a command",
            f"Run a command in a shell of its own, in the working directory; the last {OUTPUT_BYTES_MAX} bytes of what it prints. "
            "When it has ended, everything that it started is ended too.",
            {
                "command": _text("For bash.", minLength=1, maxLength=COMMAND_LENGTH_MAX),
                "timeout_ms": {
                    "type": "integer",
                    "minimum": 1,
                    "description": f"Milliseconds it may take: {SECONDS_DEFAULT * 1_000:.0f} when left out, at most {SECONDS_MAX * 1_000:.0f}.",
                },
            },
            1,
            reads_only=False,
            destroys=True,
            repeats=False,
            is_open=True,
        ),
    )
}


def check_arguments(spec: Spec, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a model gave, without what it left out as null. Raises: ToolError that names the argument."""
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in given:
        if name not in spec.properties:
            raise ToolError(f"{spec.name}: {name[:64]!r} is no argument of it.")
    for name in list(spec.properties)[: spec.required]:
        if name not in given:
            raise ToolError(f"{spec.name}: {name} is missing.")
    for name, value in given.items():
        problem = _find_problem(value, spec.properties[name])
        if problem is not None:
            raise ToolError(f"{spec.name}: {name} {problem}.")
    return given


def _find_problem(value: Any, schema: dict[str, Any]) -> str | None:
    """The words of the schema that are used above, and no others."""
    wanted = schema["type"]
    if not isinstance(value, _TYPES[wanted]) or (wanted == "integer" and isinstance(value, bool)):
        return f"must be of the type {wanted}"
    if wanted == "string" and not schema.get("minLength", 0) <= len(value) <= schema.get(
        "maxLength", len(value)
    ):
        return f"must have {schema.get('minLength', 0)} to {schema.get('maxLength')} characters"
    if wanted == "array":
        if not schema["minItems"] <= len(value) <= schema["maxItems"]:
            return f"must have {schema['minItems']} items"
        return next((problem for item in value if (problem := _find_problem(item, schema["items"]))), None)
    if wanted == "integer" and value < schema.get("minimum", value):
        return f"must be at least {schema['minimum']}"
    return None
