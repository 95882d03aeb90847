import logging
from functools import partial, wraps

import pytest
import torch

import qpopt
import qpopt_torch
from qpopt import InfeasibleInstance, InvalidArgument, InvalidInstance, Solution, Status
from qpopt.control import Phase
from qpopt_torch import (
    AdapterTraining,
    DenseTraining,
    FineTuning,
    Head,
    LoaderError,
    ModelError,
    TrainingError,
    accuracy,
    find_head,
    load,
    sparsify,
    sweep,
)
from qpopt_torch.training.settings import training_settings
from tests.qpopt_torch.small import any_solution, batches, cnn, mlp

DATA = batches(sizes=(8,) * 6)
SHORT = FineTuning(epochs=2, lr=1e-3)


@pytest.fixture
def solved(monkeypatch):
    """Solve by the first selection there is, and count the solves."""
    calls = []

    @wraps(qpopt.solve)
    def solve(instance, **options):
        calls.append(options)
        return any_solution(instance)

    monkeypatch.setattr(qpopt, "solve", solve)
    return calls


def test_one_call_does_everything(caplog):
    model = cnn().train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with caplog.at_level(logging.INFO, logger="qpopt"):
        sparse = sparsify(
            model,
            DATA,
            n_select=5,
            n_per_class=2,
            val_loader=DATA,
            training=FineTuning(epochs=15, lr=1e-3, momentum=0.9),
            class_names=["a", "b", "c", "d"],
            solve={"time_limit": 5},
            progress=False,
        )
    assert accuracy(sparse, DATA, progress=False) > 0.5
    assert [len(sparse.class_features(name)) for name in "abcd"] == [2] * 4
    assert len({sparse.class_features(c) for c in range(4)}) == 4
    assert not sparse.training
    assert all(module.training for module in model.modules())
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert "of the dense model" in caplog.text


def test_frozen_network(solved):
    model = cnn()
    passes = []
    model.register_forward_hook(lambda module, args, output: passes.append(len(output)))
    sparse = sparsify(
        model,
        DATA,
        n_select=5,
        n_per_class=2,
        training=AdapterTraining(kind="linear", epochs=30, batch_size=16, lr=1e-2),
        progress=False,
    )
    # The network runs once over the data; the head is found with fewer samples than a batch has.
    assert passes.count(len(DATA[0][0])) == len(DATA)
    assert accuracy(sparse, DATA, progress=False) > 0.7
    assert torch.equal(sparse.network[0].weight, model[0].weight)
    maps = sparse.features(DATA[0][0])
    torch.testing.assert_close(maps.maps.mean((2, 3)), maps.features, atol=1e-4, rtol=1e-4)


def test_an_interrupted_call_is_continued(solved, tmp_path):
    options = {"n_select": 5, "n_per_class": 2, "training": SHORT}

    def kill(event):
        if event.phase is Phase.TRAIN:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sparsify(cnn(), DATA, out=tmp_path, progress=kill, **options)
    events = []
    first = sparsify(cnn(), DATA, out=tmp_path, progress=events.append, **options)
    assert len(solved) == 1
    epochs = [event.note.split("  ")[0] for event in events if event.phase is Phase.TRAIN]
    assert epochs == ["epoch 2"]
    straight = sparsify(cnn(), DATA, progress=False, **options)
    x = DATA[0][0]
    assert torch.equal(first(x), straight(x))
    again = qpopt_torch.load(tmp_path, cnn(seed=5))
    assert torch.equal(again(x), first(x))
    for name in ("statistics.npz", "instance.npz", "solution.json", "checkpoint.pt"):
        assert (tmp_path / name).exists()


def test_a_function_is_told_of_every_phase():
    events = []
    sparsify(
        cnn(),
        DATA,
        n_select=5,
        n_per_class=2,
        val_loader=DATA,
        training=AdapterTraining(epochs=2),
        solve={"time_limit": 5},
        progress=events.append,
    )
    phases = [event.phase for event in events]
    assert phases[0] is Phase.COLLECT
    assert phases[-4:] == [Phase.TRAIN, Phase.TRAIN, Phase.EVALUATE, Phase.EVALUATE]
    assert any(event.point.objective is not None for event in events[1:-4])
    assert "of the dense model" in events[-1].note


def test_arguments_reach_preparation_and_solve(solved, tmp_path):
    options = {"method": "paper", "solver": "highs", "time_limit": 7, "seed": 3, "gap": 0.1}
    sparse = sparsify(
        mlp(),
        batches((5,), 3),
        n_select=4,
        n_per_class=2,
        training=None,
        prepare={"similarity": "auroc", "bias": "none", "epsilon": 0.25, "redundancy": 2.0},
        solve=options,
        out=tmp_path,
        progress=False,
    )
    assert {key: solved[0][key] for key in options} == options
    instance = qpopt.Instance.load(tmp_path / "instance.npz")
    assert sparse.solution.fingerprint == instance.fingerprint
    assert instance.provenance["similarity"] == "auroc"
    assert instance.provenance["epsilon"] == 0.25


def test_nothing_is_trained_unless_asked(solved):
    model = cnn()
    sparse = sparsify(model, DATA, n_select=5, n_per_class=2, training=None, progress=False)
    assert torch.equal(sparse.network[0].weight, model[0].weight)
    assert sparse.sparse_head.adapter is None


def test_words_stand_for_the_default_settings():
    assert training_settings("full") == FineTuning()
    assert training_settings("frozen") == AdapterTraining()


@pytest.mark.parametrize("how", [str, dict, Head])
def test_a_head_that_is_known(solved, how):
    found = find_head(cnn(), DATA[0][0])
    head = {str: "6", dict: {"head": "6", "feature_layer": "1"}, Head: found}[how]
    sparse = sparsify(
        cnn(), DATA, n_select=5, n_per_class=2, head=head, training=None, progress=False
    )
    assert (sparse.head.name, sparse.head.layer) == ("6", "1" if how is dict else found.layer)


class Noisy:
    """Batches that are different every time, as augmentation makes them."""

    def __iter__(self):
        return ((x + torch.randn_like(x), y) for x, y in DATA)


def test_statistics_are_of_the_samples_as_they_are(solved, tmp_path):
    options = {"n_select": 5, "n_per_class": 2, "training": SHORT, "progress": False}
    sparsify(cnn(), Noisy(), statistics_loader=DATA, out=tmp_path, **options)
    stored = qpopt_torch.Statistics.load(tmp_path / "statistics.npz")
    direct = qpopt_torch.collect(cnn(), DATA, progress=False)
    assert (stored.sums == direct.sums).all()


def test_random_batches_give_the_same_instance_again(solved, tmp_path):
    options = {"n_select": 5, "n_per_class": 2, "training": SHORT, "progress": False}
    first = sparsify(cnn(), Noisy(), out=tmp_path, **options)
    torch.rand(3)
    second = sparsify(cnn(), Noisy(), out=tmp_path, **options)
    assert len(solved) == 1
    assert torch.equal(first(DATA[0][0]), second(DATA[0][0]))


def no_data():
    raise AssertionError("the statistics were collected before the counts were checked")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_select": 9}, InfeasibleInstance, "only 8 features"),
        ({"n_per_class": 6}, InfeasibleInstance, "n_per_class is 6"),
        ({"n_select": 3, "n_per_class": 1}, InfeasibleInstance, "distinct sets"),
        ({"exclude": [0, 1, 2, 3]}, InfeasibleInstance, "exclude leaves"),
        ({"head": "nothing"}, ModelError, "no module 'nothing'"),
        ({"training": "half"}, TrainingError, "training must be FineTuning"),
        ({"training": DenseTraining()}, TrainingError, "training must be FineTuning"),
        ({"prepare": {"bais": "none"}}, InvalidArgument, r"'bais'; it may have bias, bias_scale"),
        ({"prepare": {"include": [1]}}, InvalidArgument, "prepare has the unknown key 'include'"),
        ({"solve": {"limit": 3}}, InvalidArgument, "solve has the unknown key 'limit'"),
        ({"solve": {"progress": True}}, InvalidArgument, "unknown key 'progress'"),
        ({"head": {"layer": "1"}}, InvalidArgument, "it may have feature_layer, head"),
    ],
)
def test_wrong_arguments_are_found_before_anything_is_collected(
    monkeypatch, options, error, message
):
    monkeypatch.setattr("qpopt_torch.pipeline.sparsify.collect", lambda *a, **k: no_data())
    with pytest.raises(error, match=message):
        sparsify(cnn(), DATA, **{"n_select": 5, "n_per_class": 2, **options}, progress=False)


@pytest.mark.parametrize("one", ["prepare", "solve", "head"])
@pytest.mark.parametrize("start", [sparsify, partial(sweep, training=None)])
def test_mappings_are_checked_before_a_batch_is_read(one, start, tmp_path):
    counts = {"n_select": [5], "n_per_class": [2]}
    with pytest.raises(InvalidArgument, match=f"{one} has the unknown key 'nothing'"):
        start(cnn(), Unreadable(), **counts, **{one: {"nothing": 1}}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


class Unreadable:
    def __iter__(self):
        raise AssertionError("a batch was read")


def test_wrong_loaders(solved):
    options = {"n_select": 5, "n_per_class": 2, "training": SHORT, "progress": False}
    with pytest.raises(LoaderError, match="can be read only once"):
        sparsify(cnn(), iter(DATA), **options)
    with pytest.raises(LoaderError, match="empty"):
        sparsify(cnn(), [], **options)
    with pytest.raises(InvalidInstance, match="Class 3 has no samples"):
        sparsify(cnn(), [(x, y.clamp(max=2)) for x, y in DATA], **options)
    assert not solved


def test_no_solution_in_time(monkeypatch):
    nothing = Solution(None, None, None, status=Status.NO_SOLUTION)
    monkeypatch.setattr(qpopt, "solve", wraps(qpopt.solve)(lambda *a, **k: nothing))
    with pytest.raises(ModelError, match=r"ended no_solution.*time_limit"):
        sparsify(cnn(), DATA, n_select=5, n_per_class=2, progress=False)


def test_features_are_on_or_off_where_the_head_says_so(tmp_path, solved):
    data = batches()
    call = {"n_select": 5, "n_per_class": 2, "training": None, "progress": False}
    made = sparsify(cnn(), data, head={"relu": True}, out=tmp_path, **call)
    assert made.sparse_head.relu
    assert not sparsify(cnn(), data, **call).sparse_head.relu
    assert load(tmp_path, cnn()).sparse_head.relu
    with pytest.raises(InvalidArgument, match="relu"):
        sparsify(cnn(), data, out=tmp_path, **call)
    with pytest.raises(InvalidArgument, match="relu must be True or False"):
        sparsify(cnn(), data, head={"relu": 1}, **call)


def test_a_pass_that_was_ended_goes_on(tmp_path, monkeypatch):
    data = batches(sizes=(6,) * 6)
    wanted = {"n_select": 4, "n_per_class": 2, "training": None, "progress": False}
    whole = qpopt_torch.sparsify(cnn(), data, out=tmp_path / "whole", **wanted)
    broken = [*data[:4], (data[4][0], data[4][1] + 100), data[5]]
    often = {**qpopt_torch.collect.__kwdefaults__, "every": 2}
    monkeypatch.setattr(qpopt_torch.collect, "__kwdefaults__", often)
    out = tmp_path / "ended"
    with pytest.raises(LoaderError, match="label"):
        qpopt_torch.sparsify(cnn(), broken, out=out, **wanted)
    assert [path.name for path in out.iterdir()] == ["collect.npz"]
    found = qpopt_torch.sparsify(cnn(), data, out=out, **wanted)
    assert not (out / "collect.npz").exists()
    assert found.selection.tolist() == whole.selection.tolist()
