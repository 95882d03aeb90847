import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from qpopt import InvalidArgument
from qpopt_torch import ModelError
from qpopt_torch.data.image_folder import ImageFolder
from qpopt_torch.evidence.gather import EvidenceParams
from qpopt_torch.explain import gather
from tests.qpopt_torch.readable import N_CLASSES, NAMES, small_loader, small_sparse


def mixed_loader(sparse):
    """Batches in which some decisions are right; those of small_loader are all wrong."""
    with torch.no_grad():
        return [
            (x, torch.where(torch.arange(len(y)) < 5, y, sparse(x).argmax(1)))
            for x, y in small_loader(n_batches=9)
        ]


@pytest.fixture(scope="module")
def case():
    sparse = small_sparse()
    loader = mixed_loader(sparse)
    x, y = (torch.cat(parts) for parts in zip(*loader, strict=True))
    with torch.no_grad():
        logits = sparse(x).double().numpy()
    evidence = gather(sparse, loader, progress=False)
    return sparse, evidence, x, y.numpy(), logits


def test_values_of_a_class_add_up_to_its_logit(case):
    sparse, evidence, _, y, logits = case
    assert np.allclose(evidence.values @ sparse.assignment.T, logits, atol=1e-4)
    assert np.array_equal(evidence.predictions, logits.argmax(1))
    assert np.array_equal(evidence.labels, y)


def test_the_shown_samples_are_the_right_ones(case):
    _, evidence, _, y, logits = case
    for c in range(N_CLASSES):
        members = np.flatnonzero(y == c)
        best = members[np.argsort(-logits[members, c])][:4]
        assert evidence.of_class[c] == tuple(best)
    for column, shown in enumerate(evidence.of_feature):
        values = evidence.values[:, column]
        assert shown[0] == values.argmax()
        assert all(np.diff(values[list(shown)]) <= 0)
        assert max(np.bincount(y[list(shown)])) <= 2
    lead = logits.max(1) - logits[np.arange(len(y)), y]
    wrong = [i for i in np.argsort(-lead) if lead[i] > 0]
    assert 0 < len(wrong) < len(y)
    assert set(evidence.wrong) == set(wrong)
    assert set(evidence.right) == set(range(len(y))) - set(wrong)


def test_how_many_samples_are_kept(case):
    sparse, evidence, *_ = case
    params = EvidenceParams(per_class=1, per_feature=2, per_feature_and_class=1, n_decisions=3)
    few = gather(sparse, mixed_loader(sparse), params=params, progress=False)
    assert few.of_class == tuple(shown[:1] for shown in evidence.of_class)
    for shown in few.of_feature:
        assert len(set(few.labels[list(shown)])) == 2
    assert few.wrong == evidence.wrong[:3]
    assert len(few.right) == 3


def test_samples_hold_their_own_data(case):
    sparse, evidence, x, y, _ = case
    shown = {i for group in (*evidence.of_class, *evidence.of_feature) for i in group}
    assert set(evidence.samples) == shown | set(evidence.wrong) | set(evidence.right)
    for index, sample in evidence.samples.items():
        with torch.no_grad():
            seen = sparse.features(x[index : index + 1])
        assert (sample.index, sample.label) == (index, y[index])
        assert np.allclose(sample.values, evidence.values[index], atol=1e-5)
        assert np.allclose(sample.maps, seen.maps[0], atol=2e-3, rtol=2e-3)
        assert sample.picture.values.shape == (8, 8, 3)


def test_in_a_notebook_it_takes_one_line(case):
    _, evidence, _, y, _ = case
    assert len(evidence.samples) == 63 == len(y)
    assert repr(evidence) == "Evidence(63 samples, 63 to be shown, 4 classes × 6 features)"
    assert repr(evidence.samples[5]) == (
        f"Sample(index=5, label={y[5]}, prediction={evidence.predictions[5]})"
    )
    assert repr(evidence.samples[5].picture) == "Picture(kind='image')"


def test_batches_do_not_matter(case):
    sparse, evidence, x, y, _ = case
    single = gather(sparse, iter([(x, torch.tensor(y))]), progress=False)
    assert single.of_class == evidence.of_class
    assert single.of_feature == evidence.of_feature
    assert (single.wrong, single.right) == (evidence.wrong, evidence.right)


def test_means_by_class(case):
    _, evidence, _, y, _ = case
    for c in range(N_CLASSES):
        members = y == c
        assert np.allclose(evidence.class_means[c], evidence.values[members].mean(0), atol=1e-5)


def test_a_class_without_samples():
    loader = [(x[y != 3], y[y != 3]) for x, y in small_loader()]
    evidence = gather(small_sparse(), loader, progress=False)
    assert evidence.of_class[3] == ()
    assert np.isnan(evidence.class_means[3]).all()


def test_heat_range_is_common_to_the_images_of_a_feature(case):
    _, evidence, _, _, _ = case
    maps = np.stack([sample.maps for sample in evidence.samples.values()]).astype(float)
    ranges = evidence.heat_range
    for column, (low, high) in enumerate(ranges):
        assert low == pytest.approx(np.median(maps[:, column]), abs=1e-9)
        assert low < high <= maps[:, column].max()


def test_names():
    sparse, loader = small_sparse(), small_loader()
    assert gather(sparse, loader, progress=False).names.classes == NAMES
    own = gather(sparse, loader, class_names=list("abcd"), progress=False).names
    assert own.classes == ("a", "b", "c", "d")
    nameless = small_sparse(names=None)

    class Loader(list):
        class dataset:
            classes = ("w", "x", "y", "z")

    assert gather(nameless, Loader(loader), progress=False).names.classes == ("w", "x", "y", "z")
    assert gather(nameless, loader, progress=False).names.classes == ("0", "1", "2", "3")
    with pytest.raises(InvalidArgument, match="must hold 4 names, one for each class; it holds 3"):
        gather(sparse, loader, class_names=list("abc"), progress=False)


def test_a_folder_of_images_knows_its_colours_and_classes(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    for name in "wxyz":
        (tmp_path / name).mkdir()
        Image.fromarray(pixels).save(tmp_path / name / "1.png")
    folder = ImageFolder(tmp_path, 8, margin=1.0)
    evidence = gather(small_sparse(names=None), DataLoader(folder, 2), progress=False)
    assert evidence.names.classes == ("w", "x", "y", "z")
    assert (evidence.samples[0].picture.values == pixels).all()


def test_looking_up_names():
    names = gather(small_sparse(), small_loader(), progress=False).names
    assert names.class_number("bee") == 1
    assert names.feature_column(8) == names.feature_column("Feature 8") == 4
    with pytest.raises(ModelError, match="Did you mean 'ape'"):
        names.class_number("AP")
    with pytest.raises(ModelError, match="no class 4"):
        names.class_number(4)
    with pytest.raises(ModelError, match=r"Feature 1 is not selected; .* 0, 2, 3, 5, 8, 11"):
        names.feature_column(1)
