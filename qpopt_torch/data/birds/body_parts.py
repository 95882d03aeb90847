"""Wings, bellies, tails and legs."""

from __future__ import annotations

from qpopt_torch.data.birds.outlines import CREAM, Colour, Shape, darker, disc, smooth, straight
from qpopt_torch.data.birds.parts import BirdPart, Variant

_WING = ((634, 452), (616, 556), (526, 634), (400, 662), (270, 662), (120, 650))
_WING_BACK = ((232, 566), (352, 472), (482, 402), (590, 396))
_FEATHERS = ((560, 606), (400, 662), (270, 662), (120, 650), (240, 608), (420, 600))


def _wing(colour: Colour, *marks: Shape) -> tuple[Shape, ...]:
    lower = smooth(darker(colour), *_FEATHERS)
    return (smooth(colour, *_WING, *_WING_BACK), lower, *marks)


WING = BirdPart(
    "wing",
    "body",
    (440, 540),
    1.3,
    (
        Variant("blue", "blue-winged", _wing((54, 116, 206))),
        Variant(
            "barred",
            "bar-winged",
            _wing(
                (122, 70, 44),
                smooth(CREAM, (560, 418), (590, 430), (560, 540), (488, 628), (456, 622)),
                smooth(CREAM, (420, 456), (452, 452), (420, 560), (344, 644), (308, 636)),
            ),
        ),
        Variant(
            "spotted",
            "spot-winged",
            _wing(
                (58, 56, 66),
                *(
                    disc((255, 255, 255), x, y, 27)
                    for x, y in (
                        *((556, 464), (470, 482), (536, 560), (386, 526)),
                        *((446, 582), (302, 576), (358, 622), (232, 630)),
                    )
                ),
            ),
        ),
        Variant(
            "green",
            "green-winged",
            _wing(
                (48, 146, 92),
                smooth((252, 214, 70), (640, 446), (626, 532), (552, 520), (508, 446), (580, 390)),
            ),
        ),
    ),
)

_BELLY = ((742, 424), (778, 500), (736, 634), (612, 728), (452, 742), (322, 684))
_BELLY_TOP = ((452, 650), (560, 596), (634, 520), (664, 440))


def _belly(colour: Colour, *marks: Shape) -> tuple[Shape, ...]:
    return (
        smooth(darker(colour, 84), *_BELLY, *_BELLY_TOP),
        smooth(colour, (738, 426), (766, 500), (708, 622), (580, 694), *_BELLY_TOP[1:]),
        *marks,
    )


BELLY = BirdPart(
    "belly",
    "body",
    (640, 640),
    1.2,
    (
        Variant("yellow", "yellow-bellied", _belly((255, 216, 64))),
        Variant("red", "red-bellied", _belly((232, 90, 62))),
        Variant("white", "white-bellied", _belly((252, 248, 240))),
        Variant(
            "streaked",
            "streak-bellied",
            _belly(
                (246, 232, 204),
                *(
                    smooth((92, 62, 44), (x - 15, y), (x, y - 44), (x + 15, y), (x - 8, y + 52))
                    for x, y in (
                        *((712, 486), (664, 548), (728, 590), (608, 622)),
                        *((672, 646), (548, 672), (612, 702), (470, 694)),
                    )
                ),
            ),
        ),
    ),
)

TAIL = BirdPart(
    "tail",
    "tail",
    (120, 600),
    1.3,
    (
        Variant(
            "fan",
            "fan-tail",
            (
                smooth(
                    (204, 108, 52),
                    *((290, 530), (160, 448), (44, 430), (6, 540), (14, 650)),
                    *((70, 756), (170, 700), (300, 620)),
                ),
                straight((142, 66, 32), (282, 558), (20, 496), (14, 524), (282, 572)),
                straight((142, 66, 32), (282, 578), (16, 636), (24, 664), (282, 594)),
            ),
        ),
        Variant(
            "fork",
            "fork-tail",
            (
                smooth((46, 50, 78), (296, 528), (150, 470), (-24, 372), (90, 540), (290, 598)),
                smooth((34, 36, 58), (290, 560), (120, 590), (-4, 760), (160, 690), (300, 624)),
            ),
        ),
        Variant(
            "long",
            "long-tail",
            (
                straight((152, 44, 92), (286, 516), (-64, 628), (-90, 712), (-34, 738), (306, 622)),
                straight((112, 28, 68), (296, 576), (-80, 680), (-90, 712), (-34, 738), (306, 622)),
            ),
        ),
        Variant(
            "banded",
            "band-tail",
            (
                straight((62, 58, 62), (276, 508), (4, 520), (-16, 668), (290, 636)),
                straight(CREAM, (206, 510), (150, 514), (138, 656), (196, 644)),
                straight(CREAM, (86, 516), (34, 520), (18, 666), (74, 662)),
            ),
        ),
    ),
)


def _leg(colour: Colour, x: float) -> tuple[Shape, ...]:
    foot = ((x - 30, 882), (x + 10, 852), (x + 96, 872), (x + 90, 894), (x, 898))
    return (
        straight(colour, (x - 15, 680), (x + 17, 680), (x + 17, 880), (x - 15, 880)),
        smooth(colour, *foot),
    )


def _legs(colour: Colour) -> tuple[Shape, ...]:
    return (*_leg(darker(colour, 80), 470), *_leg(colour, 556))


LEGS = BirdPart(
    "legs",
    "legs",
    (520, 810),
    1.0,
    (
        Variant("orange", "orange-legged", _legs((250, 138, 40))),
        Variant("blue", "blue-legged", _legs((72, 170, 226))),
        Variant("black", "black-legged", _legs((44, 42, 48))),
    ),
)
