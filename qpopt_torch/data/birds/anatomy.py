"""The whole bird: all parts, what carries them, and what may be before or below them."""

from __future__ import annotations

from qpopt_torch.data.birds.body_parts import BELLY, LEGS, TAIL, WING
from qpopt_torch.data.birds.head_parts import BEAK, CREST, EYE
from qpopt_torch.data.birds.outlines import Shape, disc, smooth, straight
from qpopt_torch.data.birds.parts import BirdPart, Joint

PARTS = (BEAK, EYE, CREST, WING, BELLY, TAIL, LEGS)
"""Every part, in the order of the attributes."""

BODY = smooth(
    (0, 0, 0),
    *((520, 330), (640, 300), (744, 380), (778, 500), (736, 634), (612, 728)),
    *((452, 742), (316, 690), (222, 606), (206, 548), (290, 474), (400, 398)),
)
HEAD = disc((0, 0, 0), 656, 320, 152, 146)
"""What carries the parts and is none; the colour depends on the scene."""

BACK_TO_FRONT: tuple[BirdPart | tuple[Joint, Shape], ...] = (
    *(TAIL, LEGS, ("body", BODY), BELLY, WING),
    *(("head", HEAD), BEAK, CREST, EYE),
)
"""The order in which a bird is painted."""

TWIG = (
    straight((122, 94, 70), (-600, 890), (1600, 884), (1600, 934), (-600, 926)),
    straight((94, 70, 54), (-600, 912), (1600, 912), (1600, 934), (-600, 926)),
    smooth((112, 150, 92), (700, 900), (760, 822), (880, 800), (850, 880), (760, 920)),
    smooth((136, 170, 104), (120, 912), (60, 980), (-60, 1000), (-20, 930), (50, 900)),
)
"""What a bird may sit on; part of the background."""

LEAF = (
    smooth((96, 144, 82), (-150, 20), (-60, -78), (80, -70), (170, 0), (70, 76), (-60, 84)),
    straight((74, 116, 66), (-196, 36), (150, -6), (150, 4), (-192, 48)),
)
"""What may hide a part, about the origin."""
