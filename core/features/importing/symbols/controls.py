"""Recognise values of a perturbation column that look like controls: non-targeting, NT, ctrl,
safe-targeting, with or without a number.
"""

from __future__ import annotations

import re
from typing import Final

# separates the parts of a name: NegCtrl0_NegCtrl1
SEVERAL: Final = re.compile(r"\s*(?:__|[+;,|&])\s*|(?<=\d)_(?=[A-Za-z])")
_SEPARATORS = re.compile(r"[\s_\-./#()]+")
# may be followed by a number, or begin with sg; from nontargetinghuman on: of published libraries
_WORD = (
    "nontargeting|nontarget|nontargetting|nontargetingcontrol|nontargetcontrol|nontargetingguide"
    "|notarget"
    "|nongenetargeting|nongenetargetingcontrol|nontargetingsgrna|nontargetinggrna|nt|ntc|ntctrl"
    "|ntcontrol"
    "|nontargetingcontrols|neg|negctrl|negctl|negcontrol|negativectrl|negativecontrol"
    "|negativecontrols|negativeguide"
    "|control|controls|ctrl|ctl|ctrls|controlguide|controlsgrna|ctrlguide|safetargeting"
    "|safetarget|safeharbor|safeharbour"
    "|safe|scramble|scrambled|scrambledcontrol|intergenic|intergeniccontrol|oneintergenicsite"
    "|nosite|nontargetingneg|gal4"
    "|aavs1|rosa26|egfp|gfp|bfp|tagbfp|luciferase|luc|fluc|rluc|nluc|lacz|mcherry|tdtomato"
    "|nontargetinghuman"
    "|nontargetingmouse|onenongenesite|nongenesite|inactive4t|inactive5t|noncutting|untargeted"
    "|untargeting|notargeting"
    "|nonspecific|noperturb|noperturbation|scr|nc|dmso|vehicle|mock"
)
_PLAIN = {
    *(
        "unperturbed",
        "nonperturbed",
        "notperturbed",
        "untreated",
        "untransduced",
        "nontransduced",
        "notreatment",
        "nottreated",
    ),
    *(
        "uninfected",
        "untransfected",
        "unedited",
        "unmodified",
        "untransformed",
        "parental",
        "wt",
        "wildtype",
        "baseline",
        "pbs",
    ),
    *("emptyvector", "emptyguide", "ev", "plko", "plko1", "mockinfected", "mocktransduced"),
    *("positivenegativecontrol", "controlunperturbed"),
}
_GUIDE = "sgrna|grna|shrna|sirna|guide|sg|sh|si|g"
# At most three words (NT_NT): words made of words can be split in 2^n ways.
_PATTERN = re.compile(rf"p?(?:(?:{_GUIDE})?(?:{_WORD})(?:{_GUIDE})?\d*){{1,3}}(?:cells?|site\d*)?")


def looks_like_control(text: str) -> bool:
    """Return whether a clean value names controls, with the usual words in any spelling, numbered
    or not."""
    if _names_control(text):  # AAVS1_sg2 is one name
        return True
    parts = [part for part in SEVERAL.split(text) if part]
    return bool(parts) and all(map(_names_control, parts))


def _names_control(text: str) -> bool:
    squeezed = _SEPARATORS.sub("", text.lower())
    return (
        squeezed in _PLAIN
        or squeezed.removesuffix("cells") in _PLAIN
        or _PATTERN.fullmatch(squeezed) is not None
    )
