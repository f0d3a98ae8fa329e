"""The sentences of the simulated demo's debates; braces are filled from the row's dossier (demo_debate)."""

from __future__ import annotations

PHRASES: dict[str, dict[str, tuple[str, ...]]] = {
    "EFFECT": {
        "open": (
            "Knockdown of {pert} should move {gene} in these macrophages.",
            "There is a credible case that {gene} responds when {pert} is lost.",
            "The dossier favours a measurable change of {gene} once {pert} is depleted.",
            "Losing {pert} is likely to reach {gene}, directly or through the network around it.",
            "Of the two positions, a real response of {gene} to the loss of {pert} is the better supported.",
            "{gene} is a plausible responder to depletion of {pert}.",
        ),
        "link": (
            "Passage {ref} reports that loss of {pert} {verb} the {topic} program, the one that {gene} follows.",
            "The literature is specific: {ref} finds that depleting {pert} {verb} {topic}, and {gene} moves with it.",
            "{ref} ties {pert} to {topic}, and that is where the annotation of {gene} points.",
        ),
        "nolink": (
            "No passage tests this pair, but absence from a sparse literature is weak evidence against a response.",
            "Nobody has reported on {pert} and this program, which leaves the question open rather than closed.",
            "What was retrieved stops short of the pair itself, so the case rests on what the two genes do.",
        ),
        "nopapers": ("The literature tool did not answer for this row, so its silence says nothing either way.",),
        "clone": (
            "{gene} is an uncharacterised clone, yet it was measured because it is expressed, and it can respond.",
            "That {gene} is uncharacterised limits what we know of it, not what it does.",
        ),
        "program": (
            "{gene} is listed in the {program} program, which moves after many perturbations of this kind.",
            "Membership in {program} matters, because that program answers to a broad range of knockdowns.",
            "The gene class places {gene} in {program}, one of the programs that respond to loss of core functions.",
        ),
        "unlisted": (
            "No curated program lists {gene}, so the analogues and the rates have to carry the argument.",
            "{gene} stands outside the curated programs, but those cover only part of the responsive genes.",
        ),
        "near_high": (
            "{partner}, the closest analogue of {pert} (score {score}), changed {de} of its {n} measured targets.",
            "Analogues of {pert} changed {near} of their targets against {base} overall: an active neighbourhood.",
            "Among the network partners of {pert}, led by {partner}, {near} of the labelled rows changed.",
        ),
        "near_low": (
            "Analogues such as {partner} changed {near} of their targets, but pooling hides genes that always respond.",
            "The partners of {pert} are a little quieter than average ({near}), a weak argument about one gene.",
        ),
        "near_level": (
            "{partner} and the other analogues of {pert} changed {near} of their targets, which is not quiet.",
            "Partners such as {partner} (score {score}) respond at the usual rate of {near}, so nothing is ruled out.",
            "{partner}, closest to {pert} in the network, changed {de} of its {n} measured targets.",
        ),
        "near_none": ("The network tool offers no labelled analogue of {pert}, so nothing there weighs against a response.",),
        "rates": (
            "With {base} of comparable rows changed, the prior is far from negligible.",
            "The base rate of {base} means that a modest push is enough to favour a change.",
            "Nearly every second comparable row changed ({base}), and this one has more going for it than most.",
        ),
        "close": (
            "Taken together, a detectable change of {gene} is the better reading.",
            "On balance, losing {pert} should alter {gene}.",
            "I therefore argue that {gene} is differentially expressed.",
            "The judge should put this row above the base rate.",
            "That is enough to expect {gene} past the threshold.",
        ),
    },
    "NULL": {
        "open": (
            "Nothing in the dossier carries an effect from {pert} all the way to {gene}.",
            "Knockdown of {pert} most likely leaves {gene} where it was.",
            "The burden of proof lies with the claim that {gene} responds to {pert}, and it is not met.",
            "{gene} is unlikely to pass the threshold after loss of {pert}.",
            "The cautious reading is that {pert} and {gene} are not connected in these cells.",
            "For {gene}, depletion of {pert} is one perturbation among many that change nothing.",
        ),
        "link": (
            "Passage {ref} concerns the {topic} program as a whole, and most of its members stayed put.",
            "{ref} does report that loss of {pert} {verb} {topic}, but from a reporter and not from {gene}.",
            "The one relevant passage, {ref}, measured {topic} early and under other conditions.",
        ),
        "nolink": (
            "No passage links {pert} with the program of {gene}, and none mentions the two together in earnest.",
            "The literature is silent on this pair, as it should be if there is nothing to see.",
            "What is written of {pert} stops well before {gene}.",
        ),
        "nopapers": ("The literature tool did not answer, so no report can be claimed for an effect.",),
        "clone": (
            "{gene} is an uncharacterised clone, and such genes are mostly silent here.",
            "Uncharacterised symbols like {gene} change less often than named genes.",
        ),
        "program": (
            "{gene} belongs to {program}, a program that many knockdowns leave alone.",
            "Being listed in {program} says what {gene} does, not that {pert} controls it.",
            "Membership in {program} is shared by many genes, and few of them move at once.",
        ),
        "unlisted": (
            "No curated program lists {gene}, which removes the usual route for an indirect response.",
            "{gene} has no place in the responsive programs, so there is no mechanism to appeal to.",
        ),
        "near_high": (
            "That partners of {pert} such as {partner} changed {near} of their targets says little about {gene}.",
            "An active neighbourhood ({near}) raises every target alike and singles out none.",
        ),
        "near_low": (
            "The closest analogue, {partner}, changed {de} of {n} targets, and the analogues together only {near}.",
            "Network partners of {pert} are quiet: {near} of their rows changed against {base} overall.",
            "If {pert} acted widely, its partners would too; they changed {near} of their targets.",
        ),
        "near_level": (
            "The analogues of {pert} changed {near} of their targets, no more than any perturbation does.",
            "{partner} changed {de} of {n} targets, which is the base rate and not a sign of {gene}.",
            "Partners such as {partner} are average ({near}), so nothing marks {pert} as a strong perturbation.",
        ),
        "near_none": ("No labelled analogue of {pert} supports an effect.",),
        "rates": (
            "The base rate already favours no change, since only {base} of comparable rows moved.",
            "With {base} changed, most rows like this one are null.",
            "An unspecific case has to start from {base}, and that is below one half.",
        ),
        "close": (
            "I would stay below the base rate for {gene}.",
            "The most economical conclusion is that {gene} does not move.",
            "Without a route from {pert} to {gene}, no change is the better answer.",
            "The evidence is general where it would have to be specific.",
            "Nothing here justifies more than a low probability for {gene}.",
        ),
    },
    "DIRECTION": {
        "open": (
            "If {gene} responds to the loss of {pert}, it should {rise}.",
            "Given an effect, {higher} expression of {gene} is what losing {pert} would bring.",
            "Granted that {pert} knockdown changes {gene}, the direction is more likely {higher}.",
            "The likelier outcome for {gene} without {pert} is a {rise}.",
            "Assume a change: then {gene} {rises} once {pert} is gone.",
        ),
        "link_with": (
            "Passage {ref} reports that loss of {pert} {verb} the {topic} program, and {gene} follows that program.",
            "{ref} gives the sign directly: without {pert}, {topic} is {higher}.",
            "The reported effect on {topic} ({ref}) carries over to {gene}, which is annotated there.",
        ),
        "link_against": (
            "One passage, {ref}, points the other way for {topic}, but only in part of the cultures.",
            "{ref} measured {topic} early, before the compensation that would bring {gene} to a {rise}.",
        ),
        "nolink": (
            "No passage gives a sign for this pair, so the class and the analogues decide.",
            "The literature does not settle the sign, and the other evidence should be read for it.",
        ),
        "expect_with": (
            "Genes of the {program} program are expected {higher} after loss of core functions, and {gene} is one.",
            "The gene class expects {program} to {rise} under such stress.",
        ),
        "expect_against": (
            "The usual expectation for {program} is the opposite, but that is a tendency and not a rule for {gene}.",
            "Although {program} tends the other way, {pert} is not among the perturbations that established this.",
        ),
        "expect_none": (
            "No curated program fixes the sign for {gene}, which leaves room for the effect of {pert} itself.",
            "{gene} carries no expected sign, so the record of similar perturbations counts for more.",
        ),
        "near_with": (
            "Of the changes after loss of analogues such as {partner}, {near_side} are {higher} (overall {base_side}).",
            "The analogues of {pert} agree: {near_side} of their changes are {higher}, not the usual {base_side}.",
            "{partner} and the other partners of {pert} lean this way, with {near_side} against {base_side} overall.",
        ),
        "near_against": (
            "Analogues such as {partner} lean this way in {near_side} of changes, but these are few rows.",
            "The pooled {near_side} among the partners of {pert} mixes programs that move against each other.",
        ),
        "near_level": (
            "The analogues of {pert} split like all other rows ({near_side} {higher}), which speaks neither way.",
            "{partner} and its like add no sign of their own: {near_side} {higher}, as everywhere.",
        ),
        "near_none": ("There is no labelled analogue to read a sign from, which leaves the program and the rates.",),
        "rates_with": (
            "Overall, {base_side} of changed rows go this way.",
            "The base rate helps as well: {base_side} of the changes in view are of this sign.",
        ),
        "rates_against": (
            "The base rate of {base_side} for this sign is an average over programs that {gene} does not share.",
            "Fewer changes are of this sign overall ({base_side}), yet that describes the screen and not {gene}.",
        ),
        "close": (
            "So a {rise} of {gene} is the better call.",
            "I argue for {higher} {gene}.",
            "Weighing this, {gene} should {rise} rather than the reverse.",
            "The direction for {gene} is therefore {higher}.",
        ),
    },
}

# Per side: how the other side's brief is answered, and a point of the user's own.
REBUTTALS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "EFFECT": (
        (
            "NULL sets {cite} aside, but offers no measurement that excludes a response of {gene}.",
            "NULL treats missing evidence as evidence; {cite} remains unanswered.",
        ),
        (
            "Two genes need not share an annotation for {pert} to move {gene}.",
            "With a base rate of {base}, the loss of {pert} does not need a proven route to {gene}.",
        ),
    ),
    "NULL": (
        (
            "EFFECT reads {cite} as if it were about {gene} itself, which it is not.",
            "EFFECT's case would fit any target of {pert} equally well.",
        ),
        (
            "Moving a program is not the same as moving {gene} past the threshold.",
            "What is left after {cite} is the base rate, and {base} favours no change of {gene}.",
        ),
    ),
}

REASONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("de", "high"): (
        "EFFECT builds a case on {cite} that NULL does not fully answer.",
        "I find EFFECT's use of {cite} more specific than NULL's reply.",
        "The evidence for a response of {gene}, above all {cite}, justifies going above {base}.",
    ),
    ("de", "middle"): (
        "Both sides lean on indirect evidence such as {cite}, so I stay near the base rate of {base}.",
        "Neither brief settles the matter for {gene}; {cite} is suggestive at most.",
        "EFFECT is plausible and NULL is careful; {cite} moves me little from {base}.",
    ),
    ("de", "low"): (
        "NULL is right that {cite} does not reach {gene}, so I go below {base}.",
        "EFFECT offers little that is specific to {pert} and {gene}.",
        "NULL's reading of {cite} is the more careful one.",
    ),
    ("dir", "high"): (
        "UP makes more of {cite}, and {base_up} of the changes in view are increases.",
        "The case for an increase of {gene} is the stronger one given {cite}.",
    ),
    ("dir", "middle"): (
        "Neither direction is settled by {cite}; with {base_up} of changes upward I lean to UP a little.",
        "UP and DOWN both rest on {cite}; the prior of {base_up} decides.",
    ),
    ("dir", "low"): (
        "DOWN argues better, since {cite} is hard to square with an increase of {gene}.",
        "The argument for a decrease of {gene} after loss of {pert} is the more specific one.",
    ),
}

OPTIONS = {
    "A": "Knockdown of {pert} results in up-regulation of {gene}.",
    "B": "Knockdown of {pert} results in down-regulation of {gene}.",
    "C": "Knockdown of {pert} does not significantly affect {gene}.",
}
