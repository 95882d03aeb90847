import re
from pathlib import Path

import pytest
import torch

import qpopt_torch
from qpopt.cli.runner import BAD_USE, INTERRUPTED
from qpopt_torch.cli.app import main
from tests.qpopt_torch.cli import conftest
from tests.qpopt_torch.cli.conftest import network


def arguments(data, tmp_path, *more):
    return conftest.arguments(data, tmp_path / "out", *more)


def test_a_folder_of_images_is_enough(made):
    _, out = made
    sparse = qpopt_torch.load(out)
    assert sparse.class_names == ("blue", "green", "red")
    assert len(sparse.class_features("red")) == 2
    assert sparse.record.preprocessing == qpopt_torch.Preprocessing(12, (0.5,) * 3, (0.5,) * 3)
    assert "green" in (out / "report.html").read_text()


def test_what_is_printed_at_the_end(data, tmp_path, capsys):
    more = ["--training", "none", "--no-report", "--include", "5", "--exclude", "0,1"]
    assert main(arguments(data, tmp_path, *more, "--n-select", "3", "--similarity", "auroc")) == 0
    printed = capsys.readouterr().out
    sparse = qpopt_torch.load(tmp_path / "out")
    assert f"{100 * sparse.metrics['sparse'].accuracy:.1f} %" in printed
    assert f"{100 * sparse.metrics['dense'].accuracy:.1f} %" in printed
    assert 5 in sparse.selection
    assert not {0, 1} & set(sparse.selection.tolist())
    assert not (tmp_path / "out" / "report.html").exists()


def test_options_from_a_file(data, tmp_path, capsys):
    file = tmp_path / "options.toml"
    file.write_text(
        'model = "tests.qpopt_torch.cli.conftest:network"\n'
        f'data = "{data}"\nout = "{tmp_path / "out"}"\n'
        'n-select = 4\nn_per_class = 3\nexclude = ["1"]\ntraining = "none"\n'
        "size = 12\nreport = false\nquiet = true\n"
    )
    assert main(["sparsify", "--config", str(file), "--n-per-class", "2"]) == 0
    sparse = qpopt_torch.load(tmp_path / "out")
    assert sparse.assignment.sum(1).tolist() == [2, 2, 2]
    assert 1 not in sparse.selection
    for text, message in (
        ("n_selct = 4", "unknown option 'n_selct'"),
        ("n_select = ", "Cannot read"),
        ("[size]\na = 1", "size in"),
        ('model = "m"\ndata = "d"\nout = "o"\nn_select = "many"', "n-select"),
    ):
        file.write_text(text)
        assert main(["sparsify", "--config", str(file)]) == BAD_USE
        assert message in capsys.readouterr().err


def test_weights_of_other_classes(data, tmp_path, capsys):
    torch.save(network(7).state_dict(), tmp_path / "seven.pt")
    more = ["--weights", str(tmp_path / "seven.pt"), "--training", "none", "--no-report"]
    assert main(arguments(data, tmp_path, *more)) == 0
    assert "which has 3: 6 is new" in capsys.readouterr().out
    loaded = qpopt_torch.load(tmp_path / "out")
    assert torch.equal(loaded.network[0].weight, network(7)[0].weight)


def test_frozen(data, tmp_path):
    more = ["--training", "frozen", "--adapter", "mlp", "--no-report"]
    assert main(arguments(data, tmp_path, *more)) == 0
    sparse = qpopt_torch.load(tmp_path / "out", network(3))
    assert sparse.sparse_head.adapter.mlp is not None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--n-select", "40"], "only 6 features"),
        (["--finer-maps", "1"], "makes feature maps smaller"),
        (["--model", "torchvision"], "must be given as"),
        (["--weights", "nothing.pt"], "Cannot read weights"),
        (["--head", "nothing"], "no module 'nothing'"),
        (["--training", "frozen", "--adapter", "deep"], "adapter must be linear or mlp"),
        (["--adapter", "mlp"], "--adapter does not go with --training full"),
        (["--training", "none", "--epochs", "3"], "--epochs does not go with --training none"),
        (["--no-such-option"], "No such option"),
        (["--include", "many"], "--include takes whole numbers"),
        (["--include", "17"], "17"),
        (["--mean", "0.1,0.2"], "--mean takes one number or three"),
        (["--solver", "abacus"], "abacus"),
        (["--similarity", "cosine"], "similarity must be"),
        (["--amp", "half"], "amp must be"),
        (["--pretrained"], "Only models of timm and torchvision bring weights"),
        (["--pretrained", "--weights", "x.pt"], "two sources of weights"),
        (["--config", "nowhere.toml"], "Cannot read nowhere.toml"),
        (["--device", "cuda"], "--device cuda cannot be used here"),
        (["--device", "cuda:9"], "--device cuda:9 cannot be used here"),
        (["--device", "meta"], "--device meta cannot be used here"),
        (["--device", "toaster"], "--device toaster cannot be used here"),
        (["--out", str(Path(__file__))], "Cannot make the directory"),
        (["--out", str(Path(__file__) / "x")], "Cannot make the directory"),
        (["--out", "/dev/null"], "Cannot make the directory"),
        (["--data", "nowhere"], "nowhere/train is not a folder"),
        (["--data", str(Path(__file__))], "train is not a folder"),
        (["--weights", str(Path(__file__))], "Cannot read weights"),
        (["--weights", str(Path(__file__).parent)], "Cannot read weights"),
        (["--bias", "middle"], "bias must be locality"),
        (["--method", "quick", "--dense-epochs", "999999"], "quick"),
        (["--bias", "middle", "--dense-epochs", "999999"], "bias must be locality"),
        (["--n-per-class", "9", "--dense-epochs", "999999"], "n_per_class is 9"),
        *[
            ([f"--{name}", value], f"--{name}")
            for name in ("n-select", "n-per-class", "size", "batch-size")
            for value in ("0", "-1", "1.5", "many", "")
        ],
        *[
            ([f"--{name}", value], f"--{name}")
            for name in ("epochs", "dense-epochs", "workers", "seed", "lr", "time-limit")
            for value in ("-1", "many", "")
        ],
        (["--training", "half"], "--training"),
        (["--model", "os:getcwd"], "not a torch.nn.Module"),
        (["--model", "nowhere.at.all:model"], "Cannot import nowhere.at.all"),
        (["--model", "torch.nn:Nothing"], "no function 'Nothing'"),
        (["--model", "torch.nn:Linear"], "fails"),
    ],
)
def test_every_error_takes_one_line(data, tmp_path, capsys, more, message):
    assert main(arguments(data, tmp_path, *more)) == BAD_USE
    printed = capsys.readouterr().err.strip()
    assert printed.startswith("qpopt-torch: ")
    assert message in printed
    assert "\n" not in printed


def test_classes_must_agree(data, tmp_path, capsys):
    (data / "test" / "red").rename(data / "test" / "rot")
    assert main(arguments(data, tmp_path)) == BAD_USE
    assert "different classes, for example red" in capsys.readouterr().err


def test_an_interruption(data, tmp_path, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("qpopt_torch.cli.sparsifying.sparsify", interrupt)
    assert main(arguments(data, tmp_path)) == INTERRUPTED
    assert "call it again to continue" in capsys.readouterr().err


def test_the_help_says_how_to_choose_the_counts(capsys):
    assert main(["sparsify", "--help"]) == 0
    told = " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    assert "well below the number" in told
    assert "explains nothing" in told
