"""Words that models use to mark, retract, doubt or decline an answer, in several languages."""

from __future__ import annotations

import re

from core.types import Label

# What an answer is called, which words may stand before its name, and what joins it to the answer.
ANSWER_NOUNS = (
    "answer|verdict|prediction|label|letter|conclusion|choice"
    "|antwort|réponse|reponse|respuesta|risposta|resposta|antwoord|svar|odpowiedź|ответ|вывод|cevap"
)
PROBABILITY_NOUNS = (
    "answer|verdict|prediction|probability|prob|chance|likelihood|estimate"
    "|antwort|réponse|respuesta|risposta|resposta|ответ|wahrscheinlichkeit|probabilité|probabilidad|probabilidade|probabilità"
    "|вероятность|kans|sannolikhet"
)
BEFORE_NOUNS = (
    "the|my|our|a|an|final|correct|right|best|likely|probable|predicted|estimated|overall|resulting|so|thus|therefore|hence"
    "|and|that|die|der|meine|richtige|korrekte|beste|endgültige|geschätzte|la|le|ma|bonne|finale|estimée|mi|correcta|final"
    "|estimada|il|mia|corretta|stimata|a|minha|correta|het|mijn|det|mitt|правильный|мой|окончательный|верный|итоговый"
)
# The same in languages without blanks.
UNSPACED_NOUNS = {"answer": "答案|回答|答え|正解|정답|답", "prob": "答案|概率|機率|确率|確率|확률|정답"}
BEFORE_UNSPACED = (
    "因此|所以|故|综上|那么|我认为|我認為|最终|最終|最後|正确|正確|我的|私の|その|よって|したがって|的な|최종|제|따라서|그러므로"
)
JOINS = (
    r"(?:(?:\bis\b(?: therefore| thus| clearly| likely| most likely| probably)?|\bmust be\b|\bremains\b|\bist\b|\blautet\b"
    r"|\best\b(?: donc| de)?|\bes\b|\bè(?!\w)|\bé(?!\w)|是|为|為|は|는|은|이)\s{0,4}+[:：]?|:|=|—|–)"
)
# A choice in the first person, "I choose B"; not "I chose", which may describe an intermediate step.
CHOOSES = (
    r"\b(?:I|we)(?:['’]ll| will| must| have to)? (?:therefore |thus |hereby |now )?"
    r"(?:choose|select|pick(?! up)|answer(?: with)?|conclude|go with|opt for|vote for|decide on)(?: on)?"
    r"|\bI(?:['’]m| am) going with|\bich (?:wähle|nehme|antworte(?: mit)?|entscheide mich für)|\bje (?:choisis|réponds)"
    r"|\b(?:yo )?(?:elijo|escojo)|\b(?:io )?scelgo|\b(?:eu )?escolho|\bik kies|\bjag väljer|\b(?:ja )?wybieram"
    r"|\b(?:я )?выбираю|我(?:选择|選擇|选|選)"
)
AFTER_NOUNS = r"(?:\s{1,4}+(?:correct[ae]|correta|corretta|finale?|definitiva|estimée|estimada|stimata))?+"
OF_THE_QUESTION = r"(?:\s{1,4}+(?:of|for)\s{1,4}+(?:yes|an?\s(?:effect|change)))?+"

# Words anywhere before such a name in its sentence: the answer is denied, doubted or supposed.
DOUBTS = re.compile(
    r"(?<!\w)(?:not|never|nor|neither|cannot|can|could|would|might|may|if|unless|whether|wrong|incorrect|perhaps|maybe|possibly|doubt|why"
    r"|nicht|kein|keine|wenn|falls|vielleicht|pas|jamais|si|peut|no|nunca|quizás|quizá|non|mai|forse|se|não|talvez|не|если"
    r"|возможно)(?!\w)|n['’]t(?!\w)|不|没|沒|非|如果|也许|可能|もし|아니|만약",
    re.IGNORECASE,
)
# What may follow a letter that is the answer of a sentence which goes on: a reason.
REASONS = (
    r"because|since|as|given|due|with|for|weil|da|denn|car|parce|puisque|porque|pues|ya|pois|perché|poiché|потому|так"
    r"|因为|因為|由于|なぜ|です|である|입니다"
)
# Which join a second answer to the first.
OTHERS = (
    r"(?:or |and )?(?:then|but|maybe|perhaps|possibly|rather|even)"
    r"|or|and|oder|und|ou|et|o|y|e|или|и|或|和|还是|または|や|또는"
)

# What stands before a letter or a number that is all of an answer, and behind a number.
OPTION_NOUNS = "option|letter|choice|answer|opción|opção|opzione|antwort|réponse|вариант|选项|選択肢|选择"
ARTICLES = "the|die|den|la|le|el|il|a|o|de|het"
ABOUT = r"about|approximately|approx\.?|around|roughly|~|≈|ca\.?|etwa|environ|circa|около|约|約"
PER_CENT = (
    r"%|パーセント|퍼센트|per ?cent|pct|/\s?100(?![0-9])|out of 100|prozent"
    r"|pour ?cents?|por ?ciento|por ?cento|per ?cento|процент(?:ов|а)?"
)

# A sentence with this start retracts the text before it.
TAKES_BACK = re.compile(
    r"(?:\A|[\n.!?;:>—–。!])[\s*_(\[]{0,8}+(?:wait|correction|corrected|actually|no[,.]|hmm|scratch that|on second thoughts?"
    r"|on reflection|sorry|oops|edit|update|revised|i (?:was|am) wrong|my mistake|i made a mistake|that is wrong|that['’]s wrong"
    r"|rather,|instead,|just kidding"
    r"|korrektur|moment|halt|doch nicht|nein,|falsch|erratum|attendez|en fait|non,|je me trompe|corrección"
    r"|espera|en realidad|me equivoqué|correzione|aspetta|mi sbaglio|correção|espere|na verdade|поправка|исправление|подождите"
    r"|нет,|ошибка|更正|等等|等一下|不对|不對|修正|其实|訂正|待って|정정|잠깐|아니)(?![a-zа-я])",
    re.IGNORECASE,
)

_CANNOT = (
    r"\bi(?:['’]?m| am) (?:\w+ ){{0,2}}(?:unable|not able|not allowed) to (?:\w+ ){{0,2}}(?:{verbs})\b"
    r"|\bi (?:\w+ )?(?:can(?:no|['’]?)t|can not|won['’]?t|will not|must not|do not|don['’]?t) (?:\w+ ){{0,2}}(?:{verbs})\b"
)
# A refusal of the question, which no answer that may follow makes good.
REFUSES = re.compile(
    _CANNOT.format(verbs="help|assist|comply|discuss|fulfill?|engage|support")
    + r"|\b(?:ich kann|kann ich) (?:\w+ ){0,4}nicht (?:helfen|beantworten)|je ne peux pas (?:\w+ )?(?:aider|discuter)"
    r"|no puedo (?:ayudar|hablar|discutir)|non posso aiutar|não posso ajudar|не могу (?:помочь|обсуждать)"
    r"|我(?:无法|不能)(?:帮助|讨论|协助)|お手伝いできません|도와드릴 수 없",
    re.IGNORECASE,
)
# One of an answer, which a tag or a field that holds one nevertheless makes good: "I cannot say for sure, but <answer>…".
GIVES_NO_ANSWER = re.compile(
    _CANNOT.format(verbs="answer|provide|give|predict|determine|say|tell|make|offer|share|judge|decide|know")
    + r"|je ne peux pas (?:répondre|prédire|donner)|no puedo (?:responder|predecir|dar)|не могу (?:ответить|предсказать)"
    r"|我(?:无法|不能)(?:回答|预测|判断)|お答えできません|답할 수 없",
    re.IGNORECASE,
)

_UP = (
    "up", "upregulated", "up-regulated", "upregulation", "up-regulation", "goes up", "increase", "increased", "increases",
)  # fmt: skip
_DOWN = (
    "down", "downregulated", "down-regulated", "downregulation", "down-regulation", "goes down", "decrease", "decreased",
    "decreases",
)  # fmt: skip
_NONE = ("none", "no change", "no effect", "unchanged", "not changed", "no significant change", "neither")
# A classification's own words, in addition to its letters.
LABEL_WORDS = {
    **dict.fromkeys(_UP, Label.UP),
    **dict.fromkeys(_DOWN, Label.DOWN),
    **dict.fromkeys(_NONE, Label.NONE),
}
