"""The relaxed model of the published scheme, tightened from round to round.

At first only the sum over all classes is prescribed, and that every class has a feature at all.
Classes that were ever short must find n_per_class features within Γ, the features ever selected;
classes that were ever equal must differ within Γ. As w ≤ s, every product w·s is w itself, and the
product w_cd w_c'd is a variable of its own, so any solver can take the model. Pairs of classes
share n_per_class − 1 features from the first round on; what is forbidden, or required, is in w.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyomo.environ as pyo

from qpopt.models.compiled import CompiledModel, Size
from qpopt.models.compiler import compile_model
from qpopt.models.demands.sharing_rules import declare_common
from qpopt.models.parts import build, declare, declare_linked, declare_overlaps, linked_sizes
from qpopt.models.templates import templates
from qpopt.problem.instance import Instance

PAPER_TAKES = frozenset({"forbidden", "required", "pairs"})
"""The demands that it states."""


@dataclass(frozen=True)
class Tightening:
    """What the rounds so far have taught: features, classes and pairs of classes, all sorted.

    Parameters
    ----------
    features
        Γ, every feature that was ever selected.
    short
        Classes that ever had fewer than n_per_class features.
    equal
        Pairs c < c' of classes that ever had the same features.
    """

    features: tuple[int, ...] = ()
    short: tuple[int, ...] = ()
    equal: tuple[tuple[int, int], ...] = ()

    def changes(self, before: Tightening) -> bool:
        """Whether this makes another model than `before` did: Γ counts where a class needs it."""
        rules = bool(self.short or self.equal)
        return rules and self != before


def build_paper(
    instance: Instance, tightening: Tightening, *, quadratic: bool
) -> pyo.ConcreteModel:
    """Build the relaxed model of one round; `quadratic` keeps products of s in the objective."""
    model = pyo.AbstractModel("paper")
    declare(model, instance, quadratic=quadratic)
    declare_linked(model)
    declare_overlaps(model)
    declare_common(model, instance)
    model.short = pyo.Set(within=model.classes, dimen=1)
    model.in_all = pyo.Constraint(
        rule=lambda m: (
            sum(m.w[c, d] for c in m.classes for d in m.features) == m.n_per_class * len(m.classes)
        )
    )
    model.in_each = pyo.Constraint(
        model.classes, rule=lambda m, c: sum(m.w[c, d] for d in m.features) >= 1
    )
    model.enough = pyo.Constraint(
        model.short, rule=lambda m, c: sum(m.w[c, d] for d in m.gamma) >= m.n_per_class
    )
    return build(
        model, instance, gamma=tightening.features, short=tightening.short, equal=tightening.equal
    )


def compile_paper(instance: Instance, tightening: Tightening, *, quadratic: bool) -> CompiledModel:
    """Build and compile; see `build_paper`."""
    with templates():
        model = build_paper(instance, tightening, quadratic=quadratic)
    return compile_model(model, implied=("y", "p", "z"))


def paper_sizes(instance: Instance, tightening: Tightening = Tightening()) -> list[Size]:
    """Return the sizes of both forms; see `linked_sizes`."""
    overlaps = len(tightening.equal) * len(tightening.features)
    rows = 1 + instance.n_classes + len(tightening.short) + overlaps + len(tightening.equal)
    common = len(instance.pairs) * instance.n_features
    return linked_sizes(instance, overlaps + common, rows + 2 * common + len(instance.pairs))
