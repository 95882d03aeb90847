"""The metrics of a report by their titles, in percent, of the model and of the dense network."""

from __future__ import annotations

import numpy as np

from tests.qpopt_torch.report.claims import explained, measures


def of_model(truth):
    """The metrics of the sparse model, those that were asked for besides among them."""
    found = of_both(truth.uses.astype(float), truth.decided, truth.shown, truth)
    found["Contrastive pairs"] = explained.contrastive_pairs(truth.uses)
    if truth.attributes is not None:
        present = truth.attributes > 0.5
        found |= explained.local_alignment(truth.shown.z, truth.shown.y, present, truth.uses)
    given = truth.asked
    if "masks" in given:
        found |= explained.on_the_object(truth.decided, truth.uses, given["masks"])
    if "similarity" in given:
        found["Structural Grounding"] = measures.agreement(truth.uses, given["similarity"])
    if "n_deletion" in given:
        found["Deletion"] = explained.deletion(truth, given["n_deletion"])
    return found


def of_dense(truth):
    """The metrics of the dense network; none where it is not at hand."""
    if truth.dense is None:
        return {}
    weights, decided, shown = truth.seen_by_dense()
    found = of_both(weights, decided, shown, truth)
    return found | {"Contrastiveness": measures.contrastiveness(shown.features)}


def of_both(weights, decided, shown, truth):
    """The metrics that both have; Contrastiveness of the model is that of its features' pages."""
    found = {
        "Accuracy": measures.accuracy(decided.logits, decided.y),
        "Class-Independence": measures.independence(shown.features, shown.y),
        "Correlation": measures.correlation(shown.z),
    }
    if decided.maps is not None:
        for title, even in (("SID@5", True), ("Diversity@5", False)):
            found[title] = measures.diversity(decided.maps, decided.logits, weights, even=even)
    known = truth.attributes
    if known is not None:
        found["Structural Grounding"] = measures.grounding(weights, known)
        found["Feature alignment"] = measures.alignment(shown.features, known[shown.y] > 0.5)
    if truth.birds is not None:
        best = np.nanmax(measures.curves(decided.features, known[decided.y]), axis=1)
        found["Part alignment"] = 100 * float((best >= 0.95).mean())
    return found
