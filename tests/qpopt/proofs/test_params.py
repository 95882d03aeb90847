import pytest

from qpopt import InvalidArgument, InvalidFile, generate, solve
from qpopt.proofs.params import Patience, ProofParams, RootParams, Share


def test_params_come_from_a_file(tmp_path):
    file = tmp_path / "params.toml"
    file.write_text(
        "core = 7\nto_the_end = [3, 0.1]\nsearch = [0.5, 2]\n[root]\nstages = [[1, 2, 0.5]]\n"
    )
    params = ProofParams.from_file(file)
    assert params == ProofParams(
        core=7,
        to_the_end=Patience(3, 0.1),
        search=Share(0.5, 2.0),
        root=RootParams(stages=((1.0, 2, 0.5),)),
    )
    solution = solve(generate(12, 4, 4, 2), options={"params": str(file)})
    assert solution.status == "optimal"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cores = 7", "no proof parameter 'cores'; known are search, search_patience"),
        ("core = 1.5", "core must be a whole number of at least 0, not 1.5"),
        ("search_patience = -1", "search_patience must be a number of at least 0, not -1"),
        ("search = 3", "search must be part and most, not 3"),
        ("to_the_end = [1]", "to_the_end must be rounds and gain, not"),
        ("[root]\nstage = []", "no proof parameter 'stage'; known are first"),
        ("root = 3", "root must be a table of names and values, not 3"),
        ("[root]\nstages = [3]", "stages must be lists of a size, rounds and a share, not"),
        ('search = [1, "x"]', "search must be a number of at least 0, not 'x'"),
    ],
)
def test_what_a_file_may_not_say(tmp_path, text, message):
    file = tmp_path / "params.toml"
    file.write_text(text)
    with pytest.raises(InvalidArgument, match=message):
        ProofParams.from_file(file)


def test_a_file_that_cannot_be_read(tmp_path):
    file = tmp_path / "params.toml"
    with pytest.raises(InvalidFile, match="Cannot read proof parameters"):
        ProofParams.from_file(file)
    file.write_text("core = = 3")
    with pytest.raises(InvalidFile, match="Cannot read proof parameters"):
        ProofParams.from_file(file)
