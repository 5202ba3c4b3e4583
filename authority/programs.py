"""Queries that a host registers and an agent only names: conditions, an order, bounds. Pure.

An agent gives values for the parameters and nothing else; null for one of them turns its conditions off.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from authority.canonical import detach, digest_of, has_exact_keys, is_code, is_integer, text_of
from authority.failures import CapacityError, ValidationTypeError
from authority.limits import (
    PAGE_BYTES,
    PAGE_ROWS_MAX,
    PROGRAM_ROWS_MAX,
    PROGRAMS_MAX,
    PURPOSE_LENGTH_MAX,
    QUERY_REQUEST_BYTES_MAX,
    ROUTES_MAX,
)

type Wire = dict[str, Any]

_PROGRAM = frozenset(
    {
        "maximumPageBytes",
        "maximumRows",
        "order",
        "pageSize",
        "parameters",
        "programId",
        "purpose",
        "searchConfig",
        "v",
        "where",
    }
)
_CONDITION = frozenset({"field", "operand", "operator"})
_OPERATORS = {
    "lane": {"eq"},
    "key": {"eq", "prefix"},
    "kind": {"eq", "in"},
    "text": {"match"},
    "value": {"eq", "contains"},
    "dependsOn": {"eq"},
}
_ROUTE = frozenset({"destinationPurpose", "nominationId"})
PARAMETERS_MAX = 32
CONDITIONS_MAX = 32
PATH_NAMES_MAX = 16


@dataclass(frozen=True, slots=True)
class Condition:
    """`parameter` None: the operand is `constant`. `path`: the names to a value inside the record's."""

    field: str
    operator: str
    parameter: str | None
    constant: Any
    path: tuple[str, ...]

    def as_wire(self) -> Wire:
        operand = {"constant": self.constant} if self.parameter is None else {"parameter": self.parameter}
        wire: Wire = {"field": self.field, "operand": operand, "operator": self.operator}
        return {**wire, "path": list(self.path)} if self.field == "value" else wire


@dataclass(frozen=True, slots=True)
class Program:
    program_id: str
    purpose: str
    parameters: tuple[str, ...]
    where: tuple[Condition, ...]
    order: str
    rows_max: int
    page_size: int
    page_bytes_max: int
    sha256: str
    text: bytes


def parse_program(value: Any) -> Program:
    """Raises: ValidationTypeError."""
    value = detach(value, label="The memory program", bytes_max=QUERY_REQUEST_BYTES_MAX)
    if not has_exact_keys(value, _PROGRAM, version=2) or not _are_bounds(value) or not _are_names(value):
        raise ValidationTypeError("Invalid V2 memory program.")
    parameters = tuple(value["parameters"])
    where = tuple(_parse_condition(item, parameters) for item in value["where"])
    if value["order"] == "rank" and not any(condition.field == "text" for condition in where):
        raise ValidationTypeError("Invalid V2 memory program.")
    return Program(
        value["programId"],
        value["purpose"],
        parameters,
        where,
        value["order"],
        value["maximumRows"],
        value["pageSize"],
        value["maximumPageBytes"],
        digest_of(value),
        text_of(value),
    )


def _are_bounds(value: Wire) -> bool:
    return (
        is_integer(value["maximumRows"], 1, PROGRAM_ROWS_MAX)
        and is_integer(value["pageSize"], 1, PAGE_ROWS_MAX)
        and is_integer(value["maximumPageBytes"], *PAGE_BYTES)
    )


def _are_names(value: Wire) -> bool:
    names, where = value["parameters"], value["where"]
    return (
        is_code(value["programId"])
        and is_code(value["purpose"], length_max=PURPOSE_LENGTH_MAX)
        and value["order"] in ("key", "rank")
        and value["searchConfig"] == "simple"
        and type(names) is list
        and len(names) <= PARAMETERS_MAX
        and all(is_parameter(name) for name in names)
        and names == sorted(set(names))
        and type(where) is list
        and len(where) <= CONDITIONS_MAX
    )


def is_parameter(name: Any) -> bool:
    """Letters and digits, as `keyPrefix`."""
    return isinstance(name, str) and 0 < len(name) <= 128 and name.isascii() and name.isalnum()


def _parse_condition(item: Any, parameters: tuple[str, ...]) -> Condition:
    keys = _CONDITION | {"path"} if type(item) is dict and item.get("field") == "value" else _CONDITION
    if not has_exact_keys(item, keys) or type(item["field"]) is not str:
        raise ValidationTypeError("Invalid V2 memory program.")
    if item["operator"] not in list(_OPERATORS.get(item["field"], ())):
        raise ValidationTypeError("Invalid V2 memory program.")
    operand, path = item["operand"], item.get("path", [])
    if type(path) is not list or len(path) > PATH_NAMES_MAX or not all(type(name) is str for name in path):
        raise ValidationTypeError("Invalid V2 memory program.")
    if has_exact_keys(operand, frozenset({"parameter"})) and operand["parameter"] in parameters:
        return Condition(item["field"], item["operator"], operand["parameter"], None, tuple(path))
    if has_exact_keys(operand, frozenset({"constant"})):
        return Condition(item["field"], item["operator"], None, operand["constant"], tuple(path))
    raise ValidationTypeError("Invalid V2 memory program.")


def _shipped(program_id: str, *conditions: tuple[str, str, str], order: str) -> Wire:
    return {
        "maximumPageBytes": 1_048_576,
        "maximumRows": 16_384,
        "order": order,
        "pageSize": 64,
        "parameters": sorted(parameter for _, _, parameter in conditions),
        "programId": program_id,
        "purpose": "memory.reading",
        "searchConfig": "simple",
        "v": 2,
        "where": [
            {"field": field, "operand": {"parameter": parameter}, "operator": operator}
            for field, operator, parameter in conditions
        ],
    }


_RECORDS = (("key", "prefix", "keyPrefix"), ("kind", "eq", "kind"), ("lane", "eq", "lane"))
SHIPPED: tuple[Wire, ...] = (
    _shipped("memory.records", *_RECORDS, order="key"),
    _shipped("memory.search", *_RECORDS, ("text", "match", "text"), order="rank"),
)


def read_programs(items: Any) -> list[Program]:
    """The host's programs and those that are shipped. Raises: ValidationTypeError, CapacityError."""
    if type(items) is not list:
        raise ValidationTypeError("Invalid V2 memory program.")
    programs = [parse_program(item) for item in items]
    named = {program.program_id for program in programs}
    if len(named) != len(programs):
        raise ValidationTypeError("Invalid V2 memory program.")
    programs += [parse_program(item) for item in SHIPPED if item["programId"] not in named]
    if len(programs) > PROGRAMS_MAX:
        raise CapacityError("The memory program registry is too large.")
    return programs


def read_routes(items: Any) -> Mapping[str, str]:
    """Destination purposes by the name of a nomination. Raises: ValidationTypeError, CapacityError."""
    if type(items) is list and len(items) > ROUTES_MAX:
        raise CapacityError("The memory nomination route registry is too large.")
    if type(items) is not list:
        raise ValidationTypeError("Invalid or duplicate memory nomination route.")
    routes: dict[str, str] = {}
    for item in items:
        if (
            not has_exact_keys(item, _ROUTE)
            or not is_code(item["nominationId"])
            or not is_code(item["destinationPurpose"], length_max=PURPOSE_LENGTH_MAX)
            or item["nominationId"] in routes
        ):
            raise ValidationTypeError("Invalid or duplicate memory nomination route.")
        routes[item["nominationId"]] = item["destinationPurpose"]
    return routes
