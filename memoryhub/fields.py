"""Fields of request shapes: strict types, text exactly as sent, unknown fields refused.

DRF's own fields trim text, read "1" as a number and let unknown names pass; each of these would change what a caller meant.
"""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.core.validators import ProhibitNullCharactersValidator, RegexValidator
from rest_framework import serializers
from rest_framework.validators import ProhibitSurrogateCharactersValidator

from memoryhub import strict_json
from memoryhub.digests import is_sha256_hex

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[-+ ]\d\d:\d\d)?", re.ASCII)

_LETTER_BY_LETTER = (ProhibitNullCharactersValidator, ProhibitSurrogateCharactersValidator)


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses unknown fields. `null_is_absent`: fields that are null count as left out (updates).

    `may_be_absent`: a request without any body is one without any of these fields.
    """

    null_is_absent: ClassVar[bool] = False
    may_be_absent: ClassVar[bool] = False

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError("This must be an object.")
        unknown = [name for name in data if name not in self.fields]
        if unknown:
            raise serializers.ValidationError({unknown[0][:64]: "This field is not known here."})
        if self.null_is_absent:
            data = {name: value for name, value in data.items() if value is not None}
        return super().to_internal_value(data)


class Text(serializers.CharField):
    """A string as sent. `length_max` counts code points."""

    def __init__(
        self, *, length_max: int | None = None, length_min: int = 0, plain: bool = False, **options: Any
    ) -> None:
        self.plain = plain
        super().__init__(
            allow_blank=length_min == 0,
            trim_whitespace=False,
            max_length=length_max,
            min_length=length_min or None,
            **options,
        )
        # CharField looks for NUL and surrogates letter by letter; check_text has found them by then.
        self.validators = [rule for rule in self.validators if not isinstance(rule, _LETTER_BY_LETTER)]

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("This must be a string.")
        try:
            strict_json.check_text(data)
        except strict_json.StrictJSONError as error:
            raise serializers.ValidationError("This holds a character that cannot be kept.") from error
        if self.plain and any(unicodedata.category(character) == "Cc" for character in data):
            raise serializers.ValidationError("This must not hold control characters.")
        return data


class Pattern(Text):
    """A string of a form: `regex` from its `^` to its `\\Z`."""

    def __init__(self, regex: str, **options: Any) -> None:
        super().__init__(length_min=1, **options)
        self.validators.append(RegexValidator(regex, "This value does not match the required pattern."))


class Integer(serializers.IntegerField):
    """A whole number. In a query it is digits; in a body it is a JSON number, not a string or a boolean."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, str) and self.context.get("is_query"):
            data = int(data) if data.isascii() and data.isdigit() and len(data) <= 18 else None
        if not isinstance(data, int) or isinstance(data, bool):
            raise serializers.ValidationError("This must be a whole number.")
        return data


class Flag(serializers.BooleanField):
    """true or false; in a query the words."""

    def to_internal_value(self, data: Any) -> bool:
        if isinstance(data, bool):
            return data
        if self.context.get("is_query") and data in ("true", "false"):
            return bool(data == "true")
        raise serializers.ValidationError("This must be true or false.")


class Choice(serializers.ChoiceField):
    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str | int) or isinstance(data, bool) or data not in self.choices:
            raise serializers.ValidationError(
                "This must be one of: " + ", ".join(str(choice) for choice in self.choices) + "."
            )
        return data


class Sha256(Text):
    """64 lowercase hex digits."""

    empty_is_a_value = True

    def __init__(self, **options: Any) -> None:
        super().__init__(length_min=64, length_max=64, **options)

    def to_internal_value(self, data: Any) -> str:
        if not is_sha256_hex(data):
            raise serializers.ValidationError("This must be 64 lowercase hexadecimal digits.")
        return str(data)


class Moment(serializers.DateTimeField):
    """An RFC 3339 instant; without an offset it is UTC. `query_name`: the name with brackets that the SDK sends."""

    def __init__(self, *, query_name: str | None = None, **options: Any) -> None:
        self.query_name = query_name
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> datetime:
        try:
            if isinstance(data, str) and _RFC3339.fullmatch(data):
                # A "+" that was not escaped in a query arrives as a blank.
                moment = datetime.fromisoformat(f"{data[:10]}T{data[11:].replace(' ', '+').upper()}")
                return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):  # the 13th month; the year 0 in UTC
            pass
        raise serializers.ValidationError("This must be an RFC 3339 time, such as 2026-11-30T05:57:00Z.")


class JsonObject(serializers.Field[Any, Any, Any, Any]):
    """An object of anything, as strict JSON has read it."""

    def __init__(self, **options: Any) -> None:
        # what the OpenAPI document says of this field
        self._spectacular_annotation = {"field": {"type": "object", "additionalProperties": True}}
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError("This must be an object.")
        return dict(data)

    def to_representation(self, value: Any) -> Any:
        return value


class Json(serializers.Field[Any, Any, Any, Any]):
    """A value as strict JSON has read it. `schema`: what a caller is told of it; the verb that takes it checks it."""

    def __init__(self, schema: dict[str, Any], **options: Any) -> None:
        self.schema = schema
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class StringMap(serializers.Field[Any, Any, Any, Any]):
    """An object of strings. `null_removes`: a null value stands for removing the key (patches)."""

    def __init__(
        self,
        *,
        pairs_max: int,
        key_length_max: int,
        value_length_max: int,
        null_removes: bool = False,
        **options: Any,
    ) -> None:
        self.pairs_max = pairs_max
        self.key_length_max = key_length_max
        self.value_length_max = value_length_max
        self.null_removes = null_removes
        keys = {"minLength": 1, "maxLength": key_length_max}
        value: dict[str, Any] = {
            "type": ["string", "null"] if null_removes else "string",
            "maxLength": value_length_max,
        }
        # what the OpenAPI document says of this field
        self._spectacular_annotation = {
            "field": {"type": "object", "additionalProperties": value, "propertyNames": keys}
            | ({} if null_removes else {"maxProperties": pairs_max})
        }
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> dict[str, str | None]:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError("This must be an object of strings.")
        if not self.null_removes and len(data) > self.pairs_max:
            raise serializers.ValidationError(f"This holds at most {self.pairs_max} pairs.")
        for key, value in data.items():
            self._check_pair(key, value)
        return dict(data)

    def _check_pair(self, key: str, value: Any) -> None:
        if not 1 <= len(key) <= self.key_length_max:
            raise serializers.ValidationError(f"Keys have 1 to {self.key_length_max} characters.")
        if value is None and self.null_removes:
            return
        if not isinstance(value, str):
            raise serializers.ValidationError("Values must be strings.")
        if len(value) > self.value_length_max:
            raise serializers.ValidationError(f"Values have at most {self.value_length_max} characters.")

    def to_representation(self, value: Any) -> Any:
        return value
