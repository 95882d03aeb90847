import logging
from functools import wraps

import pytest

import qpopt
from qpopt import InvalidArgument, generate
from qpopt_torch import AdapterTraining, FineTuning, TrainingError, accuracy, sparsify
from qpopt_torch.pipeline.sweep import start_from, sweep
from qpopt_torch.pipeline.sweep_result import Sweep, SweepPoint
from tests.qpopt_torch.readable import small_loader, small_network

EXACT = {"method": "compact", "solver": "highs", "time_limit": None}
SETTINGS = {"solve": EXACT, "progress": False}
SHORT = AdapterTraining(epochs=3)


def point(n_select, n_per_class, selection, **more):
    given = {"objective": 1.0, "bound": None, "gap": None, "accuracy": 0.5, "seconds": 0.0} | more
    return SweepPoint(n_select, n_per_class, selection=tuple(selection), key="", **given)


@pytest.fixture(scope="module")
def loaders():
    return small_loader(1), small_loader(2)


def test_every_point_is_what_sparsify_gives(loaders):
    train, val = loaders
    model = small_network()
    found = sweep(
        model, train, n_select=[6, 4], n_per_class=[2], val_loader=val, training=SHORT, **SETTINGS
    )
    assert [(p.n_select, p.n_per_class) for p in found.points] == [(4, 2), (6, 2)]
    assert found.dense_accuracy == pytest.approx(accuracy(model, val, progress=False))
    for p in found.points:
        alone = sparsify(
            model,
            train,
            n_select=p.n_select,
            n_per_class=2,
            training=SHORT,
            **SETTINGS,
        )
        assert p.objective == pytest.approx(alone.solution.objective)
        assert p.selection == tuple(alone.selection)
        assert p.accuracy == pytest.approx(accuracy(alone, val, progress=False))


def test_continues_where_it_stopped(loaders, tmp_path, monkeypatch):
    solved = []
    real = qpopt.solve

    @wraps(real)
    def counting(instance, **options):
        solved.append((instance.n_select, options["start"]))
        return real(instance, **options)

    monkeypatch.setattr(qpopt, "solve", counting)
    arguments = {"n_per_class": [2], "training": None, "out": tmp_path / "s", **SETTINGS}
    first = sweep(small_network(), loaders[0], n_select=[4], **arguments)
    both = sweep(small_network(), loaders[0], n_select=[4, 6], **arguments)
    assert [n_select for n_select, _ in solved] == [4, 6]
    assert solved[0][1] is None
    assert set(first.points[0].selection) <= set(solved[1][1].tolist())
    assert both.points[0] == first.points[0]
    assert Sweep.load(tmp_path / "s" / "sweep.json") == both
    changed = {**arguments, "exclude": [both.points[0].selection[0]]}
    sweep(small_network(), loaders[0], n_select=[4], **changed)
    assert len(solved) == 3
    assert len(Sweep.load(tmp_path / "s" / "sweep.json").points) == 3


def test_steering(loaders):
    found = sweep(
        small_network(),
        loaders[0],
        n_select=[4, 5],
        n_per_class=[2],
        include=[7],
        exclude=[0, 1],
        prepare={"bias": "center", "bias_scale": 2.0},
        training=None,
        **SETTINGS,
    )
    for p in found.points:
        assert 7 in p.selection
        assert not {0, 1} & set(p.selection)


def test_combinations_without_a_solution_are_left_out(loaders, caplog):
    """Three features have three pairs and one triple, which four classes cannot share out."""
    counts = {"n_per_class": [2], "training": None, **SETTINGS}
    with caplog.at_level(logging.WARNING, "qpopt"):
        found = sweep(small_network(), loaders[0], n_select=[3, 4], **counts)
    assert [p.n_select for p in found.points] == [4]
    assert "left out n_select=3, n_per_class=2" in caplog.text
    with pytest.raises(TrainingError, match="No combination"):
        sweep(small_network(), loaders[0], n_select=[3], **counts)


@pytest.mark.parametrize("n_select", [4, 5, 8])
def test_a_start_is_feasible(n_select):
    instance = generate(n_classes=4, n_features=12, n_select=n_select, n_per_class=2, seed=0)
    done = [point(5, 2, range(5)), point(50, 9, range(50))]
    start = start_from(instance, done)
    assert len(set(start.tolist())) == n_select
    assert len(set(start.tolist()) & set(range(5))) == min(n_select, 5)
    assert start_from(instance, []) is None


def test_bad_arguments(loaders):
    with pytest.raises(TrainingError, match="at least one"):
        sweep(small_network(), loaders[0], n_select=[], n_per_class=[2])
    counts = {"n_select": [4], "n_per_class": [2]}
    for training in ("full", FineTuning()):
        with pytest.raises(TrainingError, match="frozen features"):
            sweep(small_network(), loaders[0], training=training, **counts)
    with pytest.raises(InvalidArgument, match="solve has the unknown key 'start'"):
        sweep(small_network(), loaders[0], solve={"start": [1]}, **counts)
