"""Values of a perturbation column that look like controls: non-targeting, NT, ctrl, safe-targeting, with or without a number."""

from __future__ import annotations

import re
from typing import Final

SEVERAL: Final = re.compile(r"\s*(?:__|[+;,|&])\s*|(?<=\d)_(?=[A-Za-z])")  # between the parts of a name; NegCtrl0_NegCtrl1
_SEPARATORS = re.compile(r"[\s_\-./#()]+")
_NUMBERED = (  # may be followed by a number, or begin with sg
    *("nontargeting", "nontarget", "nontargetting", "nontargetingcontrol", "nontargetcontrol", "nontargetingguide", "notarget"),
    *("nongenetargeting", "nongenetargetingcontrol"),
    *("nontargetingsgrna", "nontargetinggrna", "nt", "ntc", "ntctrl", "ntcontrol", "nontargetingcontrols"),
    *("neg", "negctrl", "negctl", "negcontrol", "negativectrl", "negativecontrol", "negativecontrols", "negativeguide"),
    *("control", "controls", "ctrl", "ctl", "ctrls", "controlguide", "controlsgrna", "ctrlguide"),
    *("safetargeting", "safetarget", "safeharbor", "safeharbour", "safe", "scramble", "scrambled", "scrambledcontrol"),
    *("intergenic", "intergeniccontrol", "oneintergenicsite", "nosite", "nontargetingneg", "gal4"),
    *("aavs1", "rosa26", "egfp", "gfp", "luciferase", "lacz", "mcherry"),
)
_PLAIN = {
    *("unperturbed", "nonperturbed", "notperturbed", "noperturbation", "untreated", "untransduced", "nontransduced"),
    *("uninfected", "untransfected", "unedited", "mock", "wt", "wildtype", "vehicle", "dmso", "baseline", "emptyvector"),
    *("scr", "parental", "positivenegativecontrol", "controlunperturbed", "untransformed"),
}
_GUIDE = "sgrna|grna|guide|sg|g"
_WORD = "|".join(sorted(_NUMBERED, key=len, reverse=True))
_PATTERN = re.compile(rf"p?(?:{_GUIDE})?(?:{_WORD})(?:{_GUIDE})?\d*")


def looks_like_control(text: str) -> bool:
    """Whether a clean value names controls: one of the usual words in any spelling, numbered or not, or several of them."""
    if _names_control(text):  # AAVS1_sg2 is one name
        return True
    parts = [part for part in SEVERAL.split(text) if part]
    return bool(parts) and all(map(_names_control, parts))


def _names_control(text: str) -> bool:
    squeezed = _SEPARATORS.sub("", text.lower())
    return squeezed in _PLAIN or _PATTERN.fullmatch(squeezed) is not None
