"""Classes, contrasts, features and neighbours, and what all explanations can do."""

import json
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
import torch
from torch import nn

from qpopt_torch import ModelError, SparseClassifier, collect
from qpopt_torch.explain import (
    explain_class,
    explain_contrast,
    explain_decision,
    explain_feature,
    explain_neighbours,
    gather,
)
from qpopt_torch.explain.neighbours import neighbours_of
from qpopt_torch.metrics.contrastiveness import overlap
from tests.qpopt_torch.readable import NAMES, small_loader, small_sparse

mpl.use("Agg")


@pytest.fixture(scope="module")
def evidence():
    return gather(small_sparse(), small_loader(), progress=False)


def test_class(evidence):
    found = explain_class(evidence, "ape")
    written = found.to_dict()
    assert [part["feature"] for part in written["features"]] == [0, 2]
    assert [part["shared_with"] for part in written["features"]] == [["bee"], []]
    assert written["features"][0]["mean"] == pytest.approx(evidence.class_means[0, 0])
    assert found.summary() == "Feature 0: shared with bee.\nFeature 2: of no other class."


def test_contrast(evidence):
    found = explain_contrast(evidence, 0, "bee")
    assert (found.shared, found.only_first, found.only_second) == ((0,), (1,), (2,))
    assert [part["feature"] for part in found.to_dict()["only_second"]] == [3]
    assert "Only bee: Feature 3." in found.summary()
    with pytest.raises(ModelError, match="two different classes"):
        explain_contrast(evidence, 1, 1)


def test_feature(evidence):
    found = explain_feature(evidence, 8)
    assert set(found.classes) == {2, 3}
    means = [entry["mean"] for entry in found.to_dict()["classes"]]
    assert means == sorted(means, reverse=True)
    values = evidence.values[:, 4].astype(float)
    uses = np.isin(evidence.labels, [2, 3])
    assert sum(found.distribution.users) == uses.sum()
    assert sum(found.distribution.others) == (~uses).sum()
    assert found.distribution.overlap == pytest.approx(overlap(values))
    grid = np.linspace(-60, 60, 200_001)
    assert np.trapezoid(found.distribution.density(grid), grid) == pytest.approx(1, abs=1e-3)


def test_neighbours():
    found = explain_neighbours(small_sparse())
    assert found.pairs == ((0, 1, 1, 2), (2, 3, 3, 5))
    assert sorted(found.class_order) == [0, 1, 2, 3]
    place = {c: i for i, c in enumerate(found.class_order)}
    assert abs(place[0] - place[1]) == abs(place[2] - place[3]) == 1
    assert "ape has Feature 2 where bee has Feature 3." in found.summary()


def test_neighbours_as_a_graph():
    graph = explain_neighbours(small_sparse()).graph()
    assert dict(graph.nodes)[1] == {"name": "bee", "features": ("Feature 0", "Feature 3")}
    assert list(graph.edges(data="features")) == [
        (0, 1, ("Feature 2", "Feature 3")),
        (2, 3, ("Feature 5", "Feature 11")),
    ]


def test_neighbours_of_a_single_class():
    found = neighbours_of(explain_neighbours(small_sparse()).names, np.ones((1, 2), dtype=bool))
    assert (found.pairs, found.class_order) == ((), (0,))


def explanations(evidence):
    sparse = small_sparse()
    return {
        "class": explain_class(evidence, 2),
        "contrast": explain_contrast(evidence, 2, 3),
        "feature": explain_feature(evidence, 0),
        "decision": explain_decision(sparse, small_loader()[0][0][0], evidence=evidence),
        "neighbours": explain_neighbours(sparse),
    }


def test_the_repr_is_one_line_with_the_title(evidence):
    assert {kind: repr(explanation) for kind, explanation in explanations(evidence).items()} == {
        "class": "ClassExplanation('Class <b>cat</b>')",
        "contrast": "Contrast('<b>cat</b> or dog \"&\" co')",
        "feature": "FeatureExplanation('Feature 0')",
        "decision": f"Decision('Decision for {NAMES[evidence.predictions[0]]}')",
        "neighbours": "Neighbours('Neighbouring classes')",
    }
    lines = gather(small_sparse(), small_loader(), class_names=["a\nb", *"cde"], progress=False)
    assert repr(explain_class(lines, 0)) == "ClassExplanation('Class a\\nb')"


@pytest.mark.parametrize("kind", ["class", "contrast", "feature", "decision", "neighbours"])
def test_drawn_written_and_shown(kind, evidence, tmp_path):
    explanation = explanations(evidence)[kind]
    figure, axes = explanation.figure()
    assert np.size(axes) == len(figure.axes)
    mpl.pyplot.close(figure)
    html = explanation._repr_html_()
    assert "data:image/png;base64,iVBOR" in html
    assert "<b>cat" not in html
    paths = explanation.save(tmp_path / "out")
    assert paths["figure"].read_bytes().startswith(b"\x89PNG")
    written = json.dumps(explanation.to_dict(), allow_nan=False)
    assert json.loads(paths["data"].read_text()) == json.loads(written)
    assert {path.parent for path in paths.values()} == {tmp_path / "out"}


def test_features_that_were_renamed():
    sparse = small_sparse()
    sparse.rename_features({0: "stripes", 2: "wings"})
    evidence = gather(sparse, small_loader(), progress=False)
    assert explain_feature(evidence, "stripes").column == 0
    assert explain_contrast(evidence, 0, 1).summary().startswith("Both: stripes.\nOnly ape: wings")
    sparse.rename_features({0: ""})
    assert sparse.feature_name(0) == "Feature 0"
    with pytest.raises(ModelError, match="Feature 1 is not selected"):
        sparse.rename_features({1: "tail"})
    with pytest.raises(ModelError, match="same name"):
        sparse.rename_features({3: "wings"})
    assert sparse.feature_names == {2: "wings"}


def sparse_of(model, loader):
    statistics = collect(model, loader, progress=False)
    solution = small_sparse().solution
    return SparseClassifier.from_solution(model.eval(), solution, statistics)


@pytest.mark.parametrize(
    ("model", "shape", "kind"),
    [
        (
            lambda: nn.Sequential(
                nn.Conv1d(2, 12, 3),
                nn.ReLU(),
                nn.AdaptiveAvgPool1d(1),
                nn.Flatten(),
                nn.Linear(12, 4),
            ),
            (2, 30),
            "series",
        ),
        (lambda: nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4)), (9,), "table"),
    ],
)
def test_inputs_that_are_no_images(model, shape, kind):
    torch.manual_seed(0)
    loader = [(torch.randn(16, *shape), torch.arange(16) % 4)]
    evidence = gather(sparse_of(model(), loader), loader, progress=False)
    assert {sample.picture.kind for sample in evidence.samples.values()} == {kind}
    for explanation in (explain_class(evidence, 0), explain_feature(evidence, 0)):
        explanation._repr_html_()


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, qpopt_torch.explain, qpopt_torch.report; print('matplotlib' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_names_with_dollars_are_no_formulas(evidence):
    names = ["$x_1$", "a$b", *NAMES[2:]]
    own = gather(small_sparse(), small_loader(), class_names=names, progress=False)
    explain_class(own, 0)._repr_html_()
