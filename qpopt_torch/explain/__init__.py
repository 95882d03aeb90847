"""Explanations of a sparse classifier: of its classes, features and decisions.

`gather` looks at every sample of a data set once. What it returns is explained by `explain_class`,
`explain_contrast` and `explain_feature`; `explain_decision` and `explain_neighbours` need only the
model. Every explanation can be drawn (`figure`), written (`to_dict`, `save`), printed, and shows
itself in a notebook.
"""

from qpopt_torch.evidence.gather import Evidence, gather
from qpopt_torch.evidence.sample import Sample
from qpopt_torch.explain.class_explanation import ClassExplanation, explain_class
from qpopt_torch.explain.contrast import Contrast, explain_contrast
from qpopt_torch.explain.decision import Decision, explain_decision
from qpopt_torch.explain.explanation import Explanation
from qpopt_torch.explain.feature import FeatureExplanation, explain_feature
from qpopt_torch.explain.neighbours import Neighbours, explain_neighbours

__all__ = [
    "ClassExplanation",
    "Contrast",
    "Decision",
    "Evidence",
    "Explanation",
    "FeatureExplanation",
    "Neighbours",
    "Sample",
    "explain_class",
    "explain_contrast",
    "explain_decision",
    "explain_feature",
    "explain_neighbours",
    "gather",
]
