"""Settings as words: `training.learning_rate=0.01` becomes a number in the right section of a configuration.

A configuration is a mapping of sections, each a mapping of plain values, as a TOML file has them. What a setting may be
follows from the annotations of the class or function that the section is for; see `settings_of`.
"""

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from clew.errors import ConfigError, complain, did_you_mean

NONE_WORDS = ("none", "null", "")
BOOL_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
Kinds = Mapping[str, Any]


def settings_of(owner: type | Callable[..., Any], leave_out: Sequence[str] = ()) -> dict[str, Any]:
    """Give the settings of a dataclass, or the arguments of a class or function, each with its annotation.

    >>> def build(hidden: int = 8, activation: str | None = None) -> None: ...
    >>> settings_of(build)
    {'hidden': <class 'int'>, 'activation': str | None}
    """
    if is_dataclass(owner):
        hints = get_type_hints(owner)
        return {field.name: hints[field.name] for field in fields(owner) if field.name not in leave_out}
    called = owner.__init__ if inspect.isclass(owner) else owner
    hints = get_type_hints(called)
    names = [name for name in inspect.signature(called).parameters if name != "self" and name not in leave_out]
    return {name: hints.get(name, str) for name in names}


def with_overrides(
    values: Mapping[str, Any], overrides: Mapping[str, str] | Sequence[str], sections: Mapping[str, Kinds]
) -> dict[str, Any]:
    """Lay settings that were given in words over a configuration, which is not changed.

    Args:
        values: The configuration: sections of plain values; a section may be missing.
        overrides: Words by name, `{"training.learning_rate": "0.01"}`, or "name=words" each.
        sections: The settings of each section, from `settings_of`.

    Raises:
        ConfigError: If a section or setting is unknown, or words cannot be read as what it is; all problems at once.

    >>> kinds = {"training": {"learning_rate": float, "patience": int | None}}
    >>> with_overrides({}, ["training.learning_rate=0.01", "training.patience=none"], kinds)
    {'training': {'learning_rate': 0.01, 'patience': None}}
    """
    found = {name: dict(part) if isinstance(part, Mapping) else part for name, part in values.items()}
    problems = []
    for name, words in _pairs(overrides, problems):
        section, _, key = name.partition(".")
        if section not in sections:
            remedy = did_you_mean(section, sections)
            problems.append(complain("--set", f"'{name}'", "in a known section", f"'{section}'", remedy))
        elif key not in sections[section]:
            remedy = did_you_mean(key, sections[section])
            problems.append(complain("--set", f"'{name}'", f"a setting of {section}", f"'{key}'", remedy))
        else:
            try:
                found.setdefault(section, {})[key] = parse_value(name, words, sections[section][key])
            except ConfigError as error:
                problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return found


def parse_value(name: str, words: str, kind: Any) -> Any:
    """Read words as a value of a kind.

    Several values are separated by commas; "none" is no value, where that is allowed.

    Args:
        name: What they are for, for the error.
        words: What was given.
        kind: An annotation of whole numbers, numbers, words, yes-or-no, literals, sequences of them, or a union.

    Raises:
        ConfigError: If they cannot be read so.

    >>> parse_value("model.hidden", "32", int | None), parse_value("task.lags", "2,48", tuple[int, ...])
    (32, [2, 48])
    """
    text = words.strip()
    for one in _alternatives(kind):
        try:
            return _parse_as(text, one)
        except ValueError:
            continue
    raise ConfigError(complain("--set", f"'{name}'", _words_for(kind), f"'{words}'"))


def _pairs(overrides: Mapping[str, str] | Sequence[str], problems: list[str]) -> list[tuple[str, str]]:
    if isinstance(overrides, Mapping):
        return list(overrides.items())
    pairs = []
    for text in overrides:
        name, sign, words = text.partition("=")
        if not sign:
            problems.append(complain("--set", "a setting", "written as a.b=value", f"'{text}'"))
            continue
        pairs.append((name.strip(), words))
    return pairs


def _alternatives(kind: Any) -> list[Any]:
    """Give the members of a union, the strictest first: words fit everything."""
    members = list(get_args(kind)) if get_origin(kind) in (Union, types.UnionType) else [kind]
    ranks = [type(None), bool, int, float]
    return sorted(members, key=lambda one: ranks.index(one) if one in ranks else (9 if one is str else 5))


def _parse_as(text: str, kind: Any) -> Any:
    """Read words as one kind.

    Raises:
        ValueError: If they are not of it.
    """
    if kind is type(None):
        if text.lower() not in NONE_WORDS:
            raise ValueError(text)
        return None
    if kind is bool:
        if text.lower() not in BOOL_WORDS:
            raise ValueError(text)
        return BOOL_WORDS[text.lower()]
    if kind in (int, float):
        return kind(text)
    if kind is str:
        return text
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return next(one for one in arguments if str(one) == text) if text in map(str, arguments) else _refuse(text)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        inner = next((one for one in arguments if one is not Ellipsis), str)
        pieces = [piece.strip() for piece in text.strip("[]()").split(",")]
        return [parse_value("", piece, inner) for piece in pieces if piece]
    return _refuse(text)


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _words_for(kind: Any) -> str:
    """Say what a kind is."""
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", type(None): "none"}
    parts = []
    for one in _alternatives(kind):
        arguments = get_args(one)
        if one in names:
            parts.append(names[one])
        elif get_origin(one) is Literal:
            parts.append(" or ".join(map(str, arguments)))
        elif arguments:
            inner = next((part for part in arguments if part is not Ellipsis), str)
            parts.append(f"{names.get(inner, 'values')}s separated by commas".replace("a ", "", 1))
    return " or ".join([*(part for part in parts if part != "none"), *(part for part in parts if part == "none")])
