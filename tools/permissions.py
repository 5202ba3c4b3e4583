"""docs/permissions.md, made from the table of rights:  ./hub run python -m tools.permissions"""

from pathlib import Path

from memoryhub.operations import (
    OPERATIONS,
    ROLES,
    SCOPE_PURPOSES,
    SCOPES,
    SESSION,
    SESSION_PURPOSE,
    WORK,
    WORK_PURPOSE,
    Operation,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "permissions.md"
COLUMNS = (*SCOPES, SESSION, WORK)
OPENING = """# Permissions

Who may do what: the scopes of keys, the roles of people, and every operation. A credential carries scopes, and an operation
is allowed when it names one of them. This page is made from the table that the hub itself checks; [Keys and
people](keys-and-people.md) shows how keys are made and people invited.

{scopes}

A key belongs to one environment or to the whole project. What lies outside, and for an agent every store its key
does not name, does not exist for it: the answer is 404, the same as for an id that never was. Inside, what no scope of the
key allows is answered with 403.

An agent's key names its stores with `read_only` or `read_write` access; its writes to a `read_only` store, and to what is
frozen, are answered with 403.
"""


def page() -> str:
    return "\n".join([OPENING.format(scopes="\n".join(_scopes())), *_roles(), "", *_operations(), ""])


def _scopes() -> list[str]:
    purposes = SCOPE_PURPOSES | {SESSION: SESSION_PURPOSE, WORK: WORK_PURPOSE}
    rows = [f"| `{scope}` | {purpose} |" for scope, purpose in purposes.items()]
    return ["| scope | what it is for |", "|---|---|", *rows]


def _roles() -> list[str]:
    return [
        "## Roles",
        "",
        "A person's role in a project is a set of scopes over all its environments.",
        "",
        "| role | scopes |",
        "|---|---|",
        *(
            f"| {role} | {', '.join(f'`{scope}`' for scope in SCOPES if scope in scopes)} |"
            for role, scopes in ROLES.items()
        ),
    ]


def _operations() -> list[str]:
    return [
        "## Operations",
        "",
        "`*`: only a credential of the whole project.",
        "",
        f"| operation | {' | '.join(COLUMNS)} |",
        f"|---|{'---|' * len(COLUMNS)}",
        *(_row(operation) for operation in OPERATIONS.values()),
    ]


def _row(operation: Operation) -> str:
    cells = ["yes" if scope in operation.scopes else "" for scope in COLUMNS]
    return f"| `{operation.name}`{' *' if operation.whole_project else ''} | {' | '.join(cells)} |"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
