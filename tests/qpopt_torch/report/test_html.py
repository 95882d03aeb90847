"""What the file contains, without a browser."""

import re

import numpy as np
import pytest
import torch
from torch import nn

from qpopt import InvalidFile
from qpopt_torch import SparseClassifier, collect, evaluate
from qpopt_torch.report.encoding import PageParams
from tests.qpopt_torch.readable import NAMES, small_loader, small_network, small_sparse
from tests.qpopt_torch.report.conftest import LIMIT
from tests.qpopt_torch.report.decoding import data_of, pixels


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    sparse = small_sparse()
    sparse.rename_features({0: "</script><script>alert(1)</script>"})
    path = tmp_path_factory.mktemp("report") / "report.html"
    dense = evaluate(small_network(), small_loader(1), progress=False)
    assert path == sparse.report(
        path,
        small_loader(1),
        train_loader=small_loader(2),
        dense=dense,
        settings={"epochs <i>": 3},
        title='Birds & "bees" <script>alert(2)</script>',
        progress=False,
    )
    return sparse, path, *data_of(path)


def test_one_file_that_needs_nothing_else(written):
    _, path, text, _ = written
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    assert not re.search(r"(src|href)=[\"']?(https?:|//)", text)
    assert "default-src 'none'" in text


def test_names_cannot_inject_anything(written):
    _, _, text, data = written
    assert "<script>alert" not in text
    assert text.count("</script>") == 3 + text.count('id="part-')
    assert "&lt;script&gt;alert(2)" in text
    assert "epochs &lt;i&gt;" in text
    assert [entry["name"] for entry in data["classes"]] == list(NAMES)
    assert data["features"][0]["name"].startswith("</script>")


def test_overview_shows_the_figures(written):
    sparse, _, text, _ = written
    metrics = evaluate(sparse, small_loader(1), small_loader(2), progress=False)
    for value in (
        100 * metrics.accuracy,
        metrics.sid5,
        metrics.contrastiveness,
        metrics.correlation,
    ):
        assert f"{value:.1f} %" in text
    for fact in ("12.5000", "13.0000", "4.00 %", "feasible", "search", "0.5 s"):
        assert f">{fact}<" in text


def test_the_data_is_that_of_the_model(written):
    sparse, _, _, data = written
    assert data["assignment"] == [[0, 1], [0, 2], [3, 4], [4, 5]]
    assert [feature["index"] for feature in data["features"]] == sparse.selection.tolist()
    assert data["pairs"] == [[0, 1, 1, 2], [2, 3, 3, 5]]
    x, y = (torch.cat(parts) for parts in zip(*small_loader(1), strict=True))
    with torch.no_grad():
        guesses = sparse(x).argmax(1)
    wrong = (guesses != y).nonzero().flatten().tolist()
    shown = [data["samples"][entry["sample"]] for entry in data["wrong"]]
    assert sorted(sample["index"] for sample in shown) == wrong
    for entry, sample in zip(data["wrong"], shown, strict=True):
        assert (sample["label"], sample["pred"]) == (
            int(y[sample["index"]]),
            int(guesses[sample["index"]]),
        )
        if "feature" not in entry:  # all of its features are as usual in its class, or better
            continue
        own, other = data["assignment"][sample["pred"]], data["assignment"][sample["label"]]
        assert entry["feature"] in (own if entry["fired"] else other)
        assert (entry["feature"] in own) != (entry["feature"] in other)
    assert sum(count for _, _, count in data["confusions"]) == len(wrong)
    counts = [entry["n"] for entry in data["classes"]]
    assert counts == torch.bincount(y, minlength=4).tolist()


def test_values_add_up_to_the_logits(written):
    sparse, _, _, data = written
    x = torch.cat([x for x, _ in small_loader(1)])
    with torch.no_grad():
        logits = sparse(x)
    for entry in data["right"] + data["wrong"]:
        sample = data["samples"][entry["sample"]]
        for c, columns in enumerate(data["assignment"]):
            total = sum(sample["z"][j] for j in columns)
            assert total == pytest.approx(
                float(logits[sample["index"], c]), abs=0.005 * len(columns)
            )


def test_images_are_shared(written):
    _, _, _, data = written
    assert len(data["images"]) == len(data["samples"])
    used = [i for entry in data["classes"] + data["features"] for i in entry["samples"]]
    assert len(set(used)) < len(used)


def test_without_maps_solution_or_images(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4)).eval()
    loader = [(torch.randn(16, 9), torch.arange(16) % 4)]
    statistics = collect(model, loader, progress=False)
    sparse = SparseClassifier.from_solution(model, small_sparse().solution, statistics)
    sparse.solution = None
    text, data = data_of(sparse.report(tmp_path / "r.html", loader, progress=False))
    assert data["grid"] == []
    assert data["images"] == []
    assert [name for name, _ in data["samples"][0]["row"]] == [f"Input {i}" for i in range(1, 10)]
    assert "The solve" not in text
    assert "SID@5" not in text


def test_two_hundred_classes_fit_into_the_limit(large_report):
    assert large_report.stat().st_size <= LIMIT
    _, data = data_of(large_report)
    assert (len(data["classes"]), len(data["features"])) == (200, 50)
    assert all(len(entry["samples"]) == 4 for entry in data["classes"])
    assert all(len(entry["samples"]) == 12 for entry in data["features"])
    assert len(data["tree"]) == 199
    assert pixels(data["images"][0]).shape[0] < 63  # smaller than they came


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(InvalidFile, match="Cannot write"):
        small_sparse().report(tmp_path / "no" / "r.html", small_loader(), progress=False)


def test_classes_with_the_same_features_are_said_to_be(tmp_path):
    sparse = small_sparse()
    sentences = "Two classes never have the same features", "Some classes have the same features"
    for n, sentence in enumerate(sentences):
        path = sparse.report(tmp_path / f"{n}.html", small_loader(1), progress=False)
        assert [each in path.read_text() for each in sentences] == [
            each == sentence for each in sentences
        ]
        sparse.sparse_head.assignment[1] = sparse.sparse_head.assignment[0]


def test_figures_of_what_explanations_are_worth(tmp_path):
    sparse, loader = small_sparse(), small_loader()
    n_samples = sum(len(y) for _, y in loader)
    masks = np.ones((n_samples, 8, 8))
    params = PageParams(n_deletion=3)
    path = sparse.report(
        tmp_path / "r.html",
        loader,
        masks=masks,
        similarity=np.ones((4, 4)),
        params=params,
        progress=False,
    )
    text = path.read_text()
    found = evaluate(
        sparse, loader, masks=masks, similarity=np.ones((4, 4)), n_deletion=3, progress=False
    ).percent()
    for title, key in (
        ("Plausibility", "plausibility"),
        ("Deletion", "deletion"),
        ("Structural Grounding", "structural_grounding"),
        ("Contrastive pairs", "contrastive_pairs"),
    ):
        row = text[text.index(f'<th scope="row">{title}') :]
        assert f"{found[key]:.1f} %" in row[: row.index("</tr>")]
    assert found["plausibility"] == found["pointing"] == 100  # the masks hold everything
