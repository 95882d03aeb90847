"""What is said where there is no terminal."""

import logging
import re

import pytest

from qpopt import TracePoint
from qpopt.control import Event, Phase
from qpopt_torch import AdapterTraining, DenseTraining, FineTuning, sparsify, train_dense
from qpopt_torch.data import telling
from qpopt_torch.data.telling import EpochLines, SolveLines, lines
from tests.qpopt_torch.small import batches, cnn

logger = logging.getLogger("qpopt")


@pytest.fixture(autouse=True)
def _no_level():
    """A command that ran before in this process may have set one."""
    before = logger.level
    logger.setLevel(logging.NOTSET)
    yield
    logger.setLevel(before)


def as_it_comes(monkeypatch):
    """Take away what the test runner did: logging as it is where nobody has set it up."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    assert not logger.handlers


def test_every_stage_and_epoch_has_a_line(capsys, monkeypatch):
    as_it_comes(monkeypatch)
    loader = batches()
    options = {"n_select": 5, "n_per_class": 2, "val_loader": loader}
    sparsify(cnn(), loader, training=FineTuning(epochs=2, lr=1e-3), **options)
    written = capsys.readouterr().err
    expected = (
        r"head '6' with 8 features, feature maps '2', pooling: average\n"
        r"statistics of 17 samples, 4 classes × 8 features, \d+\.\d s\n"
        r"(.*\n)*solved: 5 features, 2 a class, gap \d\.\d\d %, \d+\.\d s\n"
        r"(.*\n)*epoch 2 of 2: loss \S+, accuracy \S+ %, validation \S+ %\n"
        r"trained, \d+\.\d s\n"
        r"accuracy \S+ %, of the dense model \S+ %\n"
    )
    assert re.search(expected, written), written
    assert not logger.handlers
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize("progress", [False, lambda event: None])
def test_nothing_is_written_where_that_is_not_wanted(capsys, monkeypatch, progress):
    as_it_comes(monkeypatch)
    loader = batches()
    training = AdapterTraining(epochs=2)
    sparsify(cnn(), loader, n_select=5, n_per_class=2, training=training, progress=progress)
    assert "statistics of" not in capsys.readouterr().err


def test_who_has_set_up_logging_gets_the_lines(caplog):
    sparsify(cnn(), batches(), n_select=5, n_per_class=2, training=None)
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert any(line.startswith("solved: 5 features") for line in said)


def test_a_level_of_ones_own_stays(caplog):
    with caplog.at_level(logging.ERROR, "qpopt"), lines():
        logger.info("nothing")
    assert not caplog.records


def test_on_a_terminal_there_are_bars_and_no_lines(monkeypatch, caplog):
    monkeypatch.setattr(telling, "on_terminal", lambda: True)
    with lines():
        logger.info("nothing")
    assert not caplog.records
    assert telling.solve_progress(True) is True


def test_a_solve_is_heard_of_now_and_then(caplog):
    solve = telling.solve_progress(True)
    assert isinstance(solve, SolveLines)
    with caplog.at_level(logging.INFO, "qpopt"):
        for second in range(25):
            solve(Event(Phase.ROOT, TracePoint(float(second), 8.0, 10.0), "12 features free"))
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "solving: 10.0 s  objective 8  bound 10  gap 25.00 %  12 features free",
        "solving: 20.0 s  objective 8  bound 10  gap 25.00 %  12 features free",
    ]


def test_epochs_tell_how_long_the_rest_takes(caplog, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(telling, "perf_counter", lambda: now[0])
    said = EpochLines(10)
    with caplog.at_level(logging.INFO, "qpopt"):
        # Resumed after three epochs, each of which takes 2 s, the last ones 0.1 s.
        for epoch in range(4, 11):
            now[0] += 2.0 if epoch < 8 else 0.1
            said({"epoch": epoch, "loss": 0.5, "accuracy": 0.25})
    lines_ = [record.getMessage() for record in caplog.records]
    assert lines_[0] == "epoch 4 of 10: loss 0.500, accuracy 25.0 %, about 12 s left"
    assert lines_[-1] == "epoch 10 of 10: loss 0.500, accuracy 25.0 %"
    assert len(lines_) == 5  # those of 0.1 s but the last are left out


def test_whoever_trains_without_sparsify_is_told_too(capsys, monkeypatch):
    as_it_comes(monkeypatch)
    train_dense(cnn(), batches(), DenseTraining(epochs=2, lr=1e-3))
    assert re.search(r"epoch 2 of 2: loss \S+, accuracy", capsys.readouterr().err)
    train_dense(cnn(), batches(), DenseTraining(epochs=2, lr=1e-3), progress=False)
    assert "epoch" not in capsys.readouterr().err


def test_what_compiling_takes_is_said_before_it_begins(caplog):
    solve = telling.solve_progress(True)
    with caplog.at_level(logging.INFO, "qpopt"):
        solve(Event(Phase.COMPILE, TracePoint(0.0, None, None), "getting ready"))
        solve(Event(Phase.START, TracePoint(0.0, None, None), "64 features"))
    assert [record.getMessage() for record in caplog.records] == ["solving: getting ready"]
