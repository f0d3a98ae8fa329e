"""Settings that a person may set: the type of a field says what each may be, `setting(…)` what it
means, pydantic checks it.

Methods, experiments, fine-tunes, ranking models and requests have them:

    rounds: Annotated[int, Ge(0), Le(2), setting("0: judges read the dossier alone.")] = 1
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields, replace
from functools import cache, reduce
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt

from core.base.errors import SettingError
from core.base.records import unwrap

Count = Annotated[int, Ge(1)]
Whole = Annotated[int, Ge(0)]
Positive = Annotated[float, Gt(0)]
Share = Annotated[float, Ge(0), Le(1)]
Effect = Annotated[float, Gt(0), Lt(1)]  # a difference of scores
_ENDS = {
    "ge": "{:.15g} or more",
    "gt": "more than {:.15g}",
    "le": "at most {:.15g}",
    "lt": "less than {:.15g}",
}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_WORDS = {
    bool: ("true or false", "a list of true or false"),
    int: ("a whole number", "a list of different whole numbers"),
    float: ("a number", "a list of numbers"),
    str: ("a text", "a list of texts"),
    Path: ("a path", "a list of paths"),
    Mapping: ("a table", "a list of tables"),
}


@dataclass(frozen=True, slots=True, eq=False)  # a union of types needs its hash
class Setting:
    """What a field of a record means to a person.

    title: on a form; the name in words without one. names: what its texts name: spaces, run or
    runs, which forms offer; prompts, a file that the workspace keeps, by its SHA-256; server or
    cluster, an address, which no link has. words: the titles of its choices. missing: what stands
    on a form while there is no value. name: where it is another than the field's. option: on the
    command line. metavar: what stands for the value in --help; several texts with one that has no
    comma take an option each. key: in links, by default the name. where: whether forms and commands
    have it; "elsewhere" is what both ask for in a way of their own. changes_result: whether it
    belongs to the identity of what is made. added: whether it came when there were runs already,
    whose identity stays: it counts where it is not at its default.
    """

    help: str
    title: str = ""
    names: str = ""
    words: Mapping[str, str] | None = None
    missing: str = "none"
    name: str = ""
    option: str = ""
    metavar: str = ""
    key: str = ""
    where: Literal["everywhere", "command", "elsewhere"] = "everywhere"
    changes_result: bool = True
    added: bool = False


setting = Setting
_NOTHING = Setting("")


@dataclass(frozen=True, slots=True)
class Option:
    """A setting of a kind of record, from its declaration.

    type: of its value, None apart. part, limits: of each value where there are several; length: how
    many, 0 for any number, None for a single one. default: MISSING if it has to be given; where it
    is None, the value may be missing.
    """

    name: str
    about: Setting
    type: Any
    part: Any
    default: Any
    limits: tuple[Any, ...] = ()
    length: int | None = None

    def read(self, value: object, *, typed: bool = True) -> Any:
        """Return the value of a text, or of one that is of the right type already. Raise
        SettingError with the expected form.

        typed: whether a text may stand for a number, for true or false and for a list, as on the
        command line.
        """
        if value is None and self.default is None:
            return None
        if self.kind is Mapping:
            return self._pairs(value, typed)
        given = self._split(value) if typed and self.several and isinstance(value, str) else value
        parts = tuple(given) if isinstance(given, list | tuple) else (given,)
        texts = [part for part in parts if isinstance(part, str)]
        if not typed and any(not text.strip() and text != self.default for text in texts):
            raise self._wrong(value, " that is not empty")
        is_lax = self.kind is Path or (typed and len(texts) == len(parts))
        try:
            found = _adapter(self.type).validate_python(
                parts if isinstance(given, list) else given, strict=not is_lax
            )
        except ValueError:
            raise self._wrong(value) from None
        if (
            self.several
            and self.kind in (int, float)
            and (not found or (self.kind is int and len(set(found)) < len(found)))
        ):
            raise self._wrong(value)
        if self.about.names == "prompts" and found and not is_sha256(found):
            raise SettingError(
                self.name,
                f"got {value!r}, expected a file of prompts, or the SHA-256 of a stored one",
            )
        return found.strip() if self.about.names == "run" else found

    @property
    def several(self) -> bool:
        """Whether the value is a tuple."""
        return self.length is not None

    @property
    def kind(self) -> Any:
        """The type of each value: bool, int, float, str (also of choices), Path or Mapping."""
        return str if self.choices else get_origin(self.part) or self.part

    @property
    def choices(self) -> tuple[str, ...]:
        """What may stand here, if these are a few; "" stands for none of them."""
        return get_args(self.part) if get_origin(self.part) is Literal else ()

    @property
    def named_choices(self) -> tuple[str, ...]:
        """The choices that have a name."""
        return tuple(filter(None, self.choices))

    @property
    def titles(self) -> dict[str, str]:
        """The choices on a form, each with its title."""
        return {choice: (self.about.words or {}).get(choice, choice) for choice in self.choices}

    @property
    def expected(self) -> str:
        """What may stand here, in words."""
        if self.choices:
            return f"{'a list of ' if self.several else ''}{', '.join(self.named_choices)}"
        word = f"{self.length} numbers" if self.length else _WORDS[self.kind][self.several]
        return f"{word}, {'each ' if self.several else ''}{self.range}" if self.range else word

    @property
    def range(self) -> str:
        """The range of its numbers in words; "" without one."""
        ends = self._ends
        if ends.keys() == {"ge", "le"}:
            return f"{ends['ge']:.15g} to {ends['le']:.15g}"
        return ", ".join(text.format(ends[end]) for end, text in _ENDS.items() if end in ends)

    @property
    def lowest(self) -> float | None:
        """The lowest number that may stand here; None without an end."""
        ends = self._ends
        return math.nextafter(ends["gt"], math.inf) if "gt" in ends else ends.get("ge")

    @property
    def highest(self) -> float | None:
        """The highest number that may stand here; None without an end."""
        ends = self._ends
        return math.nextafter(ends["lt"], -math.inf) if "lt" in ends else ends.get("le")

    @property
    def option(self) -> str:
        """The option on the command line."""
        return (
            self.about.option or f"--{'no-' if self.negates else ''}{self.name.replace('_', '-')}"
        )

    @property
    def is_repeated(self) -> bool:
        """Whether the command takes one option for each value."""
        return self.kind is Mapping or (
            self.several and bool(self.about.metavar) and "," not in self.about.metavar
        )

    @property
    def negates(self) -> bool:
        """Whether the command's option switches off a default."""
        return self.kind is bool and self.default is True

    @property
    def _ends(self) -> dict[str, float]:
        return {end: number for limit in self.limits for end, number in asdict(limit).items()}

    def _split(self, text: str) -> list[str]:
        """Return the texts between commas; of weights none is left out."""
        return text.split(",") if self.kind is float and not self.length else split_names(text)

    def _wrong(self, got: object, more: str = "") -> SettingError:
        return SettingError(self.name, f"got {got!r}, expected {self.expected}{more}")

    def _pairs(self, value: object, typed: bool) -> dict[str, Any]:
        """Return the mapping of a mapping, or of texts such as KEY=VALUE; a run's name may hold an
        equals sign."""
        if isinstance(value, Mapping):
            return dict(value)
        found = {}
        for text in split_names(value) if typed else [""]:
            key, equals, content = text.rpartition("=") if self.about.names else text.partition("=")
            if not equals or not key.strip():
                raise SettingError(
                    self.name,
                    f"got {text or value!r}, expected {self.about.metavar or 'KEY=VALUE'}",
                )
            found[key.strip()] = content
        return found


def option_of_field(field: Field[Any], hint: Any) -> Option | None:
    """Return the setting that a field of a record declares by its type, hint; None of one that
    declares none.

    Raise TypeError for a type that no form and no command could show.
    """
    kind, metadata = unwrap(hint)
    declared = [each for each in metadata if isinstance(each, Setting)]
    if not declared:
        return None
    about, inner, length = reduce(_over, declared), get_args(kind), None
    part, limits = kind, [each for each in metadata if each not in declared]
    if get_origin(kind) is tuple:
        (part, limits), length = unwrap(inner[0]), 0 if Ellipsis in inner else len(inner)
    whole = kind if length is not None or not limits else Annotated[(kind, *limits)]
    default = field.default if field.default_factory is MISSING else field.default_factory()
    option = Option(about.name or field.name, about, whole, part, default, tuple(limits), length)
    if option.kind not in _WORDS:
        raise TypeError(
            f"{field.name}: a setting cannot be {kind}; expected {', '.join(map(str, _WORDS))}, or"
            " a tuple of one"
        )
    return option


def _over(general: Setting, special: Setting) -> Setting:
    """Return what a declaration says of a setting that another declares already: its own words, the
    rest as there."""
    own = {each.name: getattr(special, each.name) for each in fields(special)}
    return replace(
        general, **{name: value for name, value in own.items() if value != getattr(_NOTHING, name)}
    )


@cache
def _adapter(kind: Any) -> Any:
    """Return what checks a value. Pydantic is imported here: `--help` does without its 100 ms."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind, config={"allow_inf_nan": False})


def is_sha256(text: str) -> bool:
    """Return whether a text is a SHA-256 in hexadecimal digits, in small letters."""
    return _SHA256.fullmatch(text) is not None


def split_names(names: object) -> list[str]:
    """Return the names in "a, b", or those of a list."""
    if isinstance(names, list | tuple):
        return [str(name) for name in names]
    return [name.strip() for name in str(names).split(",") if name.strip()]
