"""Scene: everything about one picture but what the bird looks like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.data.birds.anatomy import PARTS
from qpopt_torch.data.birds.backgrounds import blurred
from qpopt_torch.data.birds.chance import Draws
from qpopt_torch.data.birds.motions import Motion
from qpopt_torch.data.birds.nuisance import Nuisance
from qpopt_torch.data.birds.outlines import Colour
from qpopt_torch.data.birds.parts import GROWTH, PIVOTS, Joint

BODY_TONES = ((168, 146, 126), (134, 142, 156), (188, 166, 138), (142, 118, 106))
"""What bodies look like; it says nothing about the species."""
MIDDLE_TONE = (158, 143, 132)
"""Their mean."""

MIDDLE = (480, 430)
"""The middle of a bird, in units: it goes to the middle of the picture."""
SCALE = 0.00078
"""The size of a unit, as a share of the picture: a bird fills nearly all of it."""

JOINT_FREEDOM: dict[Joint, float] = {"body": 0.0, "head": 1.0, "tail": 1.0, "legs": 0.5}
"""How far every joint turns, in terms of the amount of pose."""

# The streams of a picture, so that one of them can change without the others.
POSE, NOISE, BACKGROUND, OWNER = range(4)


class Scene:
    """The pose, place, light and background of one picture.

    Every picture takes the same numbers in the same order: one amount more or less leaves all
    other choices as they were.

    Parameters
    ----------
    nuisance
        The amounts.
    key
        Names the picture.
    """

    def __init__(self, nuisance: Nuisance, key: tuple[int, ...]) -> None:
        self.nuisance, self.key = nuisance, key
        draws = Draws(*key, POSE)
        joints = {
            joint: Motion.grow(GROWTH[joint], PIVOTS[joint]).then(
                Motion.turn(draws.between(most * nuisance.pose), PIVOTS[joint])
            )
            for joint, most in JOINT_FREEDOM.items()
        }
        turn = Motion.turn(draws.between(nuisance.turn), MIDDLE)
        scale = SCALE * (1 + draws.between(nuisance.size))
        x, y = 0.5 + draws.between(nuisance.place), 0.5 + draws.between(nuisance.place)
        across = -scale if draws.share() < nuisance.mirror else scale
        whole = turn.then(
            Motion.scale(across, scale, to=(x - across * MIDDLE[0], y - scale * MIDDLE[1]))
        )
        self.motions = {joint: own.then(whole) for joint, own in joints.items()}
        """Where outlines that move with a joint are, from units to shares of the picture."""
        tone = BODY_TONES[draws.below(len(BODY_TONES))]
        self.body_tone = rounded(
            *(m + nuisance.plumage * (t - m) for t, m in zip(tone, MIDDLE_TONE, strict=True))
        )
        self.tints = [[1 + draws.between(nuisance.tint) for _ in range(3)] for _ in PARTS]
        self.brightness = [1 + draws.between(nuisance.light)]
        self.brightness += [draws.between(nuisance.light) for _ in range(2)]
        self.perched = draws.share() < nuisance.perch
        self.twig = Motion.turn(draws.between(12), (512, 900))
        self.hiding = [draws.share() for _ in PARTS]
        """A part is hidden where this is below the chance of it."""
        self.leaves = [Motion.turn(draws.between(60)) for _ in PARTS]

    def tinted(self, colour: Colour, part: int) -> Colour:
        """Return a colour of a part, by its number, as it is in this picture."""
        return rounded(
            *(value * tint for value, tint in zip(colour, self.tints[part], strict=True))
        )

    def background(self, size: int, hue: float | None) -> NDArray[np.int64]:
        """Return the background, size × size × 3; without a hue, of any colour."""
        return blurred(Draws(*self.key, BACKGROUND), size, self.nuisance.clutter, hue)

    def lit(self, picture: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return a picture, size × size × 3, in the light of this scene and with its noise."""
        size = len(picture)
        level, across, down = (round(1024 * value) for value in self.brightness)
        place = (2 * np.arange(size) + 1 - size) * 1024 // size
        light = level * 1024 + across * place[None, :] + down * place[:, None]
        values = picture * light[:, :, None] >> 20
        if self.nuisance.noise > 0:
            # The deviation of four bytes together is √(4 (256² − 1) / 12) = 147.8.
            strength = round(self.nuisance.noise * (1 << 16) / 147.8)
            noise = bells((*self.key, NOISE), picture.size).reshape(picture.shape)
            values += noise * strength >> 16
        return np.clip(values, 0, 255).astype(np.uint8)


def bells(key: tuple[int, ...], n: int) -> NDArray[np.int64]:
    """Return n numbers that are nearly normal, with mean 0: sums of four bytes."""
    source = np.random.Philox(np.random.SeedSequence(key))
    words = source.random_raw((n + 1) // 2)
    # The four bytes of each half are added pairwise: in every 16 bits, then in every 32.
    pairs = (words & 0x00FF00FF00FF00FF) + (words >> 8 & 0x00FF00FF00FF00FF)
    sums = (pairs & 0x0000FFFF0000FFFF) + (pairs >> 16 & 0x0000FFFF0000FFFF)
    halves = np.stack([sums & 0xFFFFFFFF, sums >> 32], axis=1).ravel()[:n]
    return halves.astype(np.int64) - 510


def rounded(red: float, green: float, blue: float) -> Colour:
    """Return a colour in whole numbers, none above 255."""
    return min(255, round(red)), min(255, round(green)), min(255, round(blue))
