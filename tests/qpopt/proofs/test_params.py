import pytest

from qpopt import InvalidArgument, InvalidFile, generate, solve
from qpopt.proofs.params import ProofParams, Share


def test_params_come_from_a_file(tmp_path):
    file = tmp_path / "params.toml"
    file.write_text("core = 7\nslow = 1e-3\nsearch = [0.5, 2]\n")
    params = ProofParams.from_file(file)
    assert params == ProofParams(core=7, slow=1e-3, search=Share(0.5, 2.0))
    solution = solve(generate(12, 4, 4, 2), options={"params": str(file)})
    assert solution.status == "optimal"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cores = 7", "no proof parameter 'cores'; known are search, search_patience"),
        ("core = 1.5", "core must be a whole number of at least 0, not 1.5"),
        ("slow = -1", "slow must be a number of at least 0, not -1"),
        ("search = 3", "search must be a part and seconds, not 3"),
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
