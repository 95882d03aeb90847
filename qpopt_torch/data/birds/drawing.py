"""Drawing: one bird in one scene, and what of it every pixel shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.data.birds.anatomy import BACK_TO_FRONT, BODY, LEAF, PARTS, TWIG
from qpopt_torch.data.birds.motions import Motion
from qpopt_torch.data.birds.outlines import FINE, UNIT, Colour, Shape, compose, coverage, paint
from qpopt_torch.data.birds.parts import BirdPart
from qpopt_torch.data.birds.scenes import Scene, rounded

NO_PART = -1
HEAD_LIGHTER = 1.08
"""How much lighter the head is than the body."""


class Drawing:
    """One bird in one scene.

    Parameters
    ----------
    looks
        The number of the variant of every part; None for a part that is left off.
    scene
        Pose, place and light.
    size
        Height and width in pixels.
    backdrop
        The scene whose background and twig are shown; that of the bird without it.
    hue
        Of the background, from 0 to 1; without it, any.
    occlusion
        The chance that a leaf hides a part.
    """

    def __init__(
        self,
        looks: Sequence[int | None],
        scene: Scene,
        size: int,
        *,
        backdrop: Scene | None = None,
        hue: float | None = None,
        occlusion: float = 0.0,
    ) -> None:
        self.scene, self.size = scene, size
        backdrop = scene if backdrop is None else backdrop
        self.background = backdrop.background(size, hue)
        self.hidden = [k for k in range(len(PARTS)) if scene.hiding[k] < occlusion]
        self.shapes: list[Shape] = []
        self.motions: list[Motion] = []
        self.colours: list[Colour] = []
        self.owners: list[int] = []
        if backdrop.perched:
            for shape in TWIG:
                self._add(shape, backdrop.twig.then(scene.motions["body"]), shape.colour)
        for layer in BACK_TO_FRONT:
            if isinstance(layer, BirdPart):
                self._add_part(layer, looks[PARTS.index(layer)])
            else:
                joint, shape = layer
                light = 1.0 if shape is BODY else HEAD_LIGHTER
                self._add(
                    shape, scene.motions[joint], rounded(*(light * v for v in scene.body_tone))
                )
        for k in self.hidden:
            part = PARTS[k]
            spread = Motion.scale(part.reach, part.reach, to=part.centre)
            placed = scene.leaves[k].then(spread).then(scene.motions[part.joint])
            for shape in LEAF:
                self._add(shape, placed, scene.tinted(shape.colour, k))
        self.painted = paint(self._placed(), [len(s.points) for s in self.shapes], FINE * size)

    def _add_part(self, part: BirdPart, number: int | None) -> None:
        if number is None:
            return
        k = PARTS.index(part)
        for shape in part.variants[number].shapes:
            colour = self.scene.tinted(shape.colour, k)
            self._add(shape, self.scene.motions[part.joint], colour, k)

    def _add(self, shape: Shape, motion: Motion, colour: Colour, owner: int = NO_PART) -> None:
        self.shapes.append(shape)
        self.motions.append(motion)
        self.colours.append(colour)
        self.owners.append(owner)

    def _placed(self) -> NDArray[np.int64]:
        """Return the points of all shapes where they are in the picture."""
        x, y = np.concatenate([shape.points for shape in self.shapes]).T
        each = np.repeat(self.motions, [len(shape.points) for shape in self.shapes], axis=0)
        xx, xy, x0, yx, yy, y0 = each.T
        moved = np.stack([xx * x + xy * y + x0, yx * x + yy * y + y0], axis=1)
        placed: NDArray[np.int64] = np.rint(moved * (self.size * FINE * UNIT)).astype(np.int64)
        return placed

    def pixels(self) -> NDArray[np.uint8]:
        """Return the picture, size × size × 3."""
        return self.scene.lit(compose(self.painted, np.array(self.colours), self.background))

    def coverage(self) -> NDArray[np.float32]:
        """Return which share of every pixel shows each part: parts × size × size."""
        counts = coverage(self.painted, self.owners, len(PARTS))
        return (counts / FINE**2).astype(np.float32)
