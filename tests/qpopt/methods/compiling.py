"""Tells which loops solves compile that were not compiled before, as a program of its own."""

import pkgutil
from importlib import import_module
from pathlib import Path

import qpopt
from qpopt import Instance, generate, kernels, solve
from qpopt.methods.warm_up import compile_demands, compile_loops

CASES = Path(qpopt.__file__).parent / "selfcheck" / "data"
DEMANDS = (
    {"pairs": [(0, 1)]},
    {"pairs": 1},
    {"max_shared": 1},
    {"forbidden": [(0, 3)], "required": [(1, 4)]},
    {"budget": [1, 2, 2, 3]},
)


def compiled():
    """Return for every loop how many forms of it are compiled."""
    rooms = [
        import_module(m.name) for m in pkgutil.walk_packages(kernels.__path__, "qpopt.kernels.")
    ]
    return {
        f"{room.__name__}.{name}": len(loop.signatures)
        for room in rooms
        for name, loop in vars(room).items()
        if hasattr(loop, "signatures")
    }


def main():
    made = generate(8, 4, 5, 2)
    compile_loops()
    before = compiled()
    bounded = {"enumerate": False, "search_seconds": 0.0}
    for name in ("attributes-12x6", "steered-12x6", "alike-8x3"):
        instance = Instance.load(CASES / f"{name}.npz")
        for method, options in (
            ("projected", {}),
            ("projected", bounded),
            ("search", {}),
            ("paper", {}),
        ):
            solve(instance, method=method, time_limit=1.0, options=options)
    found = compiled()
    new = [name for name in found if found[name] > before[name]]
    compile_demands()
    before = compiled()
    for demands in DEMANDS:
        solve(Instance(made.A, made.R, made.b, 5, 2, **demands), time_limit=1.0)
    found = compiled()
    print(new + [name for name in found if found[name] > before[name]])


if __name__ == "__main__":
    main()
