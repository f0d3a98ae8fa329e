"""Read each value of a perturbation column, in the same way for cells, tables, target ranking and
external scores.

A value names controls, says nothing, or names one or several genes: "A", "A+ctrl", "A+B", "A_B",
"A;B", guides such as "A_+_123.45-P1P2", "A_sg2", "A-1". Text with "_", "-", ":", "/" or a space is
split only if every part is known, because symbols such as HLA-A and NKX2-1 contain these too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, Literal

from core.base.errors import InputError
from core.base.texts import list_some
from core.features.importing.symbols import clean, is_missing, looks_like_control

Kind = Literal["control", "set aside", "missing", "genes"]
How = Literal["", "guide", "combination", "spelling"]
_MAY_JOIN: Final = ("_", "-", ":", "/", " ", ".")
# Horlbeck's guides: gene, strand, position, transcript. In Norman and others, "__" separates the
# guides of the two positions.
_STRANDED = re.compile(r"(?P<gene>[^+;|&]+?)_[+-]_\d+(?:\.\d+)?-[A-Za-z0-9.,]+(?:_\w+)?")
_ALWAYS_JOIN = re.compile(r"\s*(?:[;,|&]|__+|(?<!_)\+|\+(?!_))\s*")
# a possible symbol, guide or control; otherwise nothing was joined
_PART = re.compile(r"[\w.\-()\[\]/:*'° +]+")
_GUIDE_WORD = re.compile(
    r"(?:sg|g|(?i:sgrna|grna|guide|crrna))?[_\-. ]?\d{1,5}|[ACGT]{15,25}|P1P2|P1|P2|\+"
    # the kind of loss of the gene; not overexpression
    r"|(?i:ko|kd|knock[ -]?(?:out|down)|crispri|crisprko|shrna|sirna)\d{0,3}"
)
_LETTERED = re.compile(r"(?P<gene>.+)_(?:sg|g)?(?P<letter>[A-Fa-f])")  # STAT1_A, STAT1_B
_LISTED = re.compile(r"[\[({]\s*b?['\"].*['\"]\s*,?\s*[\])}]")  # ['STAT1', 'IRF1']
_QUOTED = re.compile(r"b?(['\"])(.*?)\1")
_GLUED = re.compile(r"(?P<gene>.+?)(?:sg|g|(?i:sgrna|grna|guide))\d{1,3}")
# Prefixes of a gene; by the second pattern, sgRNASEL is RNASEL.
_PREFIXES = (
    re.compile(r"(?:p_)?(?i:sgrna|grna|guide|shrna|sirna)[_\- ]?(?=[A-Za-z0-9])"),
    re.compile(r"(?:p_)?(?:sg|sh|si)[_\- ]?(?=[A-Za-z0-9])"),
)
_CONTROL_GENES: Final = ("CTRL", "Ctrl")  # the human and the mouse gene
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Perturbation:
    """The meaning of a value.

    genes: the perturbed ones, sorted, empty for controls. how: how the value was read, "" if
    literally; "set aside" for a value that looks like a control if other values were named as the
    controls.
    """

    kind: Kind
    genes: tuple[str, ...] = ()
    how: How = ""

    @property
    def name(self) -> str:
        """The genes joined by +."""
        return "+".join(self.genes)


_MISSING, _CONTROL, _SET_ASIDE = (
    Perturbation("missing"),
    Perturbation("control"),
    Perturbation("set aside"),
)


@dataclass(frozen=True, slots=True, eq=False)
class PerturbationNames:
    """The meaning of each value of a column. of_value: value → meaning; counts: value → its cells
    or rows."""

    of_value: Mapping[str, Perturbation]
    counts: Mapping[str, int] = field(default_factory=dict)

    def count_values(self, kind: Kind, how: How | None = None) -> dict[str, int]:
        """Return the values of a kind (read as `how`, if given) with their numbers of cells,
        largest first."""
        found = {
            v: self.counts[v]
            for v, p in self.of_value.items()
            if p.kind == kind and how in (None, p.how)
        }
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    @property
    def controls(self) -> tuple[str, ...]:
        """The values of the controls, largest number of cells first."""
        return tuple(self.count_values("control"))

    @property
    def multiple(self) -> tuple[str, ...]:
        """The values that name several genes, sorted."""
        return tuple(sorted(v for v, p in self.of_value.items() if len(p.genes) > 1))

    @property
    def singles(self) -> tuple[str, ...]:
        """The genes perturbed alone, sorted."""
        return tuple(sorted({p.genes[0] for p in self.of_value.values() if len(p.genes) == 1}))

    def lines(self) -> list[str]:
        """Describe the decisions in lines for people, each with examples and numbers of cells."""
        several = {value: self.counts[value] for value in self.multiple}
        groups = (
            ("controls", self.count_values("control")),
            ("look like controls, set aside", self.count_values("set aside")),
            ("perturbations of several genes", several),
            ("guides read as their genes", self.count_values("genes", "guide")),
            ("symbols in other spellings", self.count_values("genes", "spelling")),
            ("missing, left out", {repr(v): n for v, n in self.count_values("missing").items()}),
        )
        return [f"{title}: {_examples(values)}" for title, values in groups if values]

    def record(self) -> dict[str, dict[str, int]]:
        """Return the decisions as plain data: controls, set_aside, missing → value → number."""
        kinds: tuple[Kind, ...] = ("control", "set aside", "missing")
        return {kind.replace(" ", "_"): self.count_values(kind) for kind in kinds}


def _examples(values: Mapping[str, int]) -> str:
    shown = ", ".join(f"{value} ({n:,})" for value, n in list(values.items())[:_SHOWN])
    more = f" and {len(values) - _SHOWN:,} more values" if len(values) > _SHOWN else ""
    return f"{sum(values.values()):,} cells: {shown}{more}"


def read_perturbations(
    values: Iterable[str],
    genes: Mapping[str, str] | Iterable[str],
    controls: Sequence[str] = (),
    separator: str = "",
    *,
    need_controls: bool = True,
) -> PerturbationNames:
    """Return the meaning of each value.

    values: of every cell or row. genes: measured symbols, or a mapping of every spelling to its
    symbol. controls: the values of the controls, or patterns with * and ?; by default, every value
    that looks like a control. separator: the only text that joins the genes of a combination.
    need_controls: raise InputError for controls that match no value.
    """
    counts = Counter(map(clean, values))
    reader = _Reader(counts, genes, tuple(controls), separator)
    names = PerturbationNames({value: reader.read(value) for value in counts}, counts)
    unmatched = [
        control
        for control in controls
        if not any(matches_control(value, control) for value in counts)
    ]
    if unmatched and need_controls:
        raise InputError(_describe_unmatched(unmatched[0], names))
    return names


def _describe_unmatched(control: str, names: PerturbationNames) -> str:
    alike = [*names.count_values("set aside"), *names.count_values("control")]
    found = alike or sorted(names.counts)
    which = "those that look like controls are" if alike else "the values are"
    return (
        f"no control cells: no value is {control!r}; {which}"
        f" {list_some([*map(repr, found)], _SHOWN)}"
    )


def matches_control(value: str, control: str) -> bool:
    """Return whether a clean value is this control, or matches its pattern of * and ?."""
    return value == clean(control) or fnmatchcase(value, control)


@lru_cache(maxsize=1 << 16)
def gene_of_condition(value: str) -> str:
    """Return the gene in a value, without looking at other values: A for "A+ctrl" and for "A"; ""
    for controls and several genes.
    """
    text = clean(value)
    if looks_like_control(text) and text not in _CONTROL_GENES:
        return ""
    if len(_split_joined(text)) == 1 and not _STRANDED.fullmatch(text):
        return text
    genes = read_perturbations([text], ()).of_value[text].genes
    return genes[0] if len(genes) == 1 else ""


class _Reader:
    """Reads values with the help of known symbols: the measured genes, and the values that are
    plain symbols."""

    def __init__(
        self,
        values: Iterable[str],
        genes: Mapping[str, str] | Iterable[str],
        controls: Sequence[str],
        separator: str,
    ):
        self._genes = dict(genes) if isinstance(genes, Mapping) else {gene: gene for gene in genes}
        self._controls, self._separator = controls, separator
        found: dict[str, set[str]] = {}
        for spelled, symbol in self._genes.items():
            found.setdefault(spelled.casefold(), set()).add(symbol)
        self._folded = {
            folded: next(iter(symbols)) for folded, symbols in found.items() if len(symbols) == 1
        }
        alike = [
            value for value in values if looks_like_control(value) and value not in self._genes
        ]
        # CTRL is also a gene: it is read as one if it is measured and other values are controls
        self._genes_win = bool(controls or alike)
        plain = (
            v for v in values if v.isalnum() and not is_missing(v) and not self._is_control_like(v)
        )
        self._known = dict(self._genes)
        self._known |= {value: value for value in plain if self._one(value)[0] == value}

    def read(self, value: str) -> Perturbation:
        if any(matches_control(value, control) for control in self._controls):
            return _CONTROL
        if self._is_control_like(value):
            return _SET_ASIDE if self._controls else _CONTROL
        if value in self._genes:
            return self._of([value], "")
        if is_missing(value):
            return _MISSING
        if self._separator:
            parts = [part.strip() for part in value.split(self._separator)]
            return self._of(
                [self._one(part)[0] for part in self._drop_controls(parts)], "combination"
            )
        return self._take_apart(value)

    def _is_control_like(self, value: str) -> bool:
        return looks_like_control(value) and not (self._genes_win and value in self._genes)

    def _drop_controls(self, parts: Iterable[str]) -> list[str]:
        """Return the parts that are not controls."""
        return [
            p
            for p in parts
            if p
            and not self._is_control_like(p)
            and not any(matches_control(p, c) for c in self._controls)
        ]

    def _take_apart(self, value: str) -> Perturbation:
        found, ways = list[str](), list[How]()
        if all(map(is_missing, _split_joined(value))):  # nan+nan
            return _MISSING
        parts = self._drop_controls(_split_joined(value))
        named = [part for part in parts if part in self._known or not _GUIDE_WORD.fullmatch(part)]
        for part in (
            named if named and all(self._one(part)[0] in self._known for part in named) else parts
        ):
            genes, how = self._several(part)
            found += genes
            ways.append(how)
        several = len(set(found)) > 1
        return self._of(found, "combination" if several else next(filter(None, ways), ""))

    def _several(self, part: str) -> tuple[list[str], How]:
        """Return the genes in a part without + and similar signs, and how it was read; the part
        itself if some of it is unknown.
        """
        name, how = self._one(part)
        if name in self._known:
            return [name], how
        for pieces in _pieces_of(part):
            wanted = self._drop_controls(pieces)
            genes = [
                self._one(piece)[0]
                for piece in wanted
                if piece in self._known or not _GUIDE_WORD.fullmatch(piece)
            ]
            if genes and all(gene in self._known for gene in genes):
                return genes, "guide" if len(genes) < len(wanted) else ""
        dashed = re.sub(r"[._]", "-", part)  # R writes HLA-A as HLA.A
        return ([dashed], "spelling") if dashed in self._known else ([name], how)

    def _one(self, text: str) -> tuple[str, How]:
        """Return the gene of a guide or of a symbol in another spelling, and how it was read;
        otherwise the text itself."""
        if text in self._known:
            return text, ""
        for spelled, how in self._spellings(text):
            if spelled in self._known:
                return spelled, how
            if spelled.casefold() in self._folded:
                return self._folded[spelled.casefold()], how or "spelling"
        stranded = _STRANDED.fullmatch(text)
        return (stranded["gene"], "guide") if stranded else (text, "")

    def _spellings(self, text: str) -> Iterator[tuple[str, How]]:
        """Yield possible symbols in a text, the text itself first."""
        yield text, ""
        if stranded := _STRANDED.fullmatch(text):
            yield stranded["gene"], "guide"
        bare = [text[before.end() :] for prefix in _PREFIXES if (before := prefix.match(text))]
        yield from ((each, "guide") for each in bare)
        for begin in (text, *bare):
            for joint in _MAY_JOIN:
                gene, found, word = (
                    begin.partition(joint) if joint != "-" else begin.rpartition(joint)
                )
                if found and _GUIDE_WORD.fullmatch(word):
                    yield gene, "guide"
            if glued := _GLUED.fullmatch(begin):
                yield glued["gene"], "guide"
            if (lettered := _LETTERED.fullmatch(begin)) and lettered["letter"] not in self._known:
                yield lettered["gene"], "guide"

    def _of(self, genes: Iterable[str], how: How) -> Perturbation:
        named = tuple(sorted({self._genes.get(gene, gene) for gene in genes}))
        if not named:
            return _SET_ASIDE if self._controls else _CONTROL
        return Perturbation("genes", named, how)


def _split_joined(text: str) -> list[str]:
    """Return the parts of a text joined by +, ; and similar signs; the whole text if one part
    cannot be a symbol."""
    if _LISTED.fullmatch(text):
        return [clean(part) for _, part in _QUOTED.findall(text)]
    parts = [text] if _STRANDED.fullmatch(text) else _ALWAYS_JOIN.split(text)
    return parts if all(map(_PART.fullmatch, filter(None, parts))) else [text]


def _pieces_of(text: str) -> Iterator[list[str]]:
    """Yield the ways to split a text at a character that symbols may also contain: at every one, or
    into two parts."""
    for joint in _MAY_JOIN:
        pieces = [piece for piece in text.split(joint) if piece]
        if len(pieces) > 1:
            yield pieces
        if len(pieces) > 2:
            yield from (
                [joint.join(pieces[:i]), joint.join(pieces[i:])] for i in range(1, len(pieces))
            )
