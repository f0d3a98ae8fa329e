"""The sentences of the simulated demo; braces are filled from a row's dossier (demo_debate)."""

from __future__ import annotations

# Of a brief: opening, points, conclusion (DIRECTION: of UP and DOWN); rebuttals; a judge's reasons for a high, middle or low
# probability; why an agent calls a tool; and how an advocate answers who does not argue.
_TABLE = """\
EFFECT open: Knockdown of {pert} should move {gene} in these macrophages.
EFFECT open: There is a credible case that {gene} responds when {pert} is lost.
EFFECT open: Losing {pert} is likely to reach {gene}, directly or through the network around it.
EFFECT open: {gene} is a plausible responder to depletion of {pert}.
EFFECT link: Passage {ref} reports that loss of {pert} {verb} the {topic} program, the one that {gene} follows.
EFFECT link: {ref} ties {pert} to {topic}, and that is where the annotation of {gene} points.
EFFECT nolink: No passage tests this pair, but absence from a sparse literature is weak evidence against a response.
EFFECT nolink: What was retrieved stops short of the pair itself, so the case rests on what the two genes do.
EFFECT program: {gene} is listed in the {program} program, which moves after many perturbations of this kind.
EFFECT program: The gene class places {gene} in {program}, one of the programs that respond to loss of core functions.
EFFECT unlisted: {gene} stands outside the curated programs, but those cover only part of the responsive genes.
EFFECT unlisted: That {gene} is hardly characterised limits what we know of it, not what it does.
EFFECT near: {partner}, the closest analogue of {pert} (score {score}), changed {de} of its {n} measured targets.
EFFECT near: Among the network partners of {pert}, led by {partner}, {near} of the labelled rows changed.
EFFECT rates: With {base} of comparable rows changed, the prior is far from negligible.
EFFECT rates: The base rate of {base} means that a modest push is enough to favour a change.
EFFECT close: Taken together, a detectable change of {gene} is the better reading.
EFFECT close: I therefore argue that {gene} is differentially expressed.
EFFECT close: The judge should put this row above the base rate.
NULL open: Nothing in the dossier carries an effect from {pert} all the way to {gene}.
NULL open: Knockdown of {pert} most likely leaves {gene} where it was.
NULL open: The burden of proof lies with the claim that {gene} responds to {pert}, and it is not met.
NULL open: For {gene}, depletion of {pert} is one perturbation among many that change nothing.
NULL link: {ref} does report that loss of {pert} {verb} {topic}, but from a reporter and not from {gene}.
NULL link: The one relevant passage, {ref}, measured {topic} early and under other conditions.
NULL nolink: No passage links {pert} with the program of {gene}, and none mentions the two together in earnest.
NULL nolink: What is written of {pert} stops well before {gene}.
NULL program: Being listed in {program} says what {gene} does, not that {pert} controls it.
NULL program: Membership in {program} is shared by many genes, and few of them move at once.
NULL unlisted: No curated program lists {gene}, which removes the usual route for an indirect response.
NULL unlisted: Genes without a program, such as {gene}, change less often than others.
NULL near: The analogues of {pert} changed {near} of their targets, which singles out none of them.
NULL near: If {pert} acted on {gene}, its partners might too; {partner} changed {de} of {n} targets.
NULL rates: The base rate already favours no change, since only {base} of comparable rows moved.
NULL rates: An unspecific case has to start from {base}, and that is below one half.
NULL close: The most economical conclusion is that {gene} does not move.
NULL close: The evidence is general where it would have to be specific.
NULL close: Nothing here justifies more than a low probability for {gene}.
DIRECTION open: If {gene} responds to the loss of {pert}, it should {rise}.
DIRECTION open: Granted that {pert} knockdown changes {gene}, the direction is more likely {higher}.
DIRECTION open: The likelier outcome for {gene} without {pert} is a {rise}.
DIRECTION link with: {ref} gives the sign directly: without {pert}, {topic} is {higher}.
DIRECTION link with: The reported effect on {topic} ({ref}) carries over to {gene}, which is annotated there.
DIRECTION link against: One passage, {ref}, points the other way for {topic}, but only in part of the cultures.
DIRECTION link against: {ref} measured {topic} early, before the compensation that would bring {gene} to a {rise}.
DIRECTION nolink: No passage gives a sign for this pair, so the class and the analogues decide.
DIRECTION nolink: The literature does not settle the sign, and the other evidence should be read for it.
DIRECTION expect with: The gene class expects {program} to {rise} after loss of core functions, and {gene} is in it.
DIRECTION expect against: The usual expectation for {program} is the opposite, a tendency and no rule for {gene}.
DIRECTION expect none: No curated program fixes the sign for {gene}, which leaves room for the effect of {pert} itself.
DIRECTION near: Of the changes after loss of analogues such as {partner}, {near_side} are {higher} (overall {base_side}).
DIRECTION near: Partners of {pert} such as {partner} lean this way in {near_side} of changes, against {base_side} overall.
DIRECTION rates: Overall, {base_side} of changed rows go this way.
DIRECTION close: So a {rise} of {gene} is the better call.
DIRECTION close: Weighing this, {gene} should {rise} rather than the reverse.
EFFECT rebuttal: NULL sets {cite} aside, but offers no measurement that excludes a response of {gene}.
EFFECT rebuttal: NULL treats missing evidence as evidence; {cite} remains unanswered.
NULL rebuttal: EFFECT reads {cite} as if it were about {gene} itself, which it is not.
NULL rebuttal: EFFECT's case would fit any target of {pert} equally well, and {base} favours no change of {gene}.
de high: EFFECT builds a case on {cite} that NULL does not fully answer.
de high: The evidence for a response of {gene}, above all {cite}, justifies going above {base}.
de middle: Both sides lean on indirect evidence such as {cite}, so I stay near the base rate of {base}.
de middle: EFFECT is plausible and NULL is careful; {cite} moves me little from {base}.
de low: NULL is right that {cite} does not reach {gene}, so I go below {base}.
de low: EFFECT offers little that is specific to {pert} and {gene}.
dir high: UP makes more of {cite}, and {base_up} of the changes in view are increases.
dir middle: UP and DOWN both rest on {cite}; the prior of {base_up} decides.
dir low: DOWN argues better, since {cite} is hard to square with an increase of {gene}.
gene_info: I start with what is annotated for {gene}.
gene_info: First, what is {gene}, and what does it do?
pathway_neighbours: Next, did perturbations like {pert} change much?
pathway_neighbours: Analogues of {pert} may show how broad its loss is.
literature: Does anyone report on {pert} and the program of {gene}?
literature: I look for a passage that links the two.
conclude: Given {cite} and a base rate of {base}, my estimate for {gene} after loss of {pert} is this.
conclude: {cite} is the most specific evidence; the rest stays near {base}.
option A: A) Knockdown of {pert} results in up-regulation of {gene}.
option B: B) Knockdown of {pert} results in down-regulation of {gene}.
option C: C) Knockdown of {pert} does not significantly affect {gene}.
"""

PHRASES: dict[str, list[str]] = {}
for _line in _TABLE.splitlines():
    _key, _, _text = _line.partition(": ")
    PHRASES.setdefault(_key, []).append(_text)
