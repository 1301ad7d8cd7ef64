"""Images for classification: drawn into parts by class, standardized on the training part alone."""

from clew.data import ImagePreparation, Images, read_images
from clew.errors import ConfigError, complain
from clew.runs.planning.prepared import Prepared, Request, describe_parts, require_part
from clew.tasks import Classification

IMAGE_DATA = ("layout", "axes", "allow_unseen")
LEAST_PATCHES = 16


def prepare_images(request: Request) -> Prepared:
    """Draw images into parts, and scale them by the training part."""
    data, split = request.data, request.split
    data.refuse_others("images", IMAGE_DATA)
    if split.how not in (None, "random"):
        raise ConfigError(complain("split", "how for images", "'random'", f"'{split.how}'", "Leave it out."))
    layout = data.layout or ("images" if request.preset in (None, "vit") else "rows")
    if (layout == "images") != (request.preset in (None, "vit")):
        rule, got = "'vit' for images, another for rows", f"'{request.preset}' with data.layout={layout}"
        raise ConfigError(complain("images", "model", rule, got))
    stratify = True if split.stratify is None else split.stratify
    parts: list[Images | None] = [read_images(request.file, data.axes), None, None]
    words = "as given by files"
    if request.is_split:
        assert parts[0] is not None
        parts = list(parts[0].split(request.fractions, split.seed, stratify))
        words = f"at random{', by class' if stratify else ''} (seed {split.seed})"
    for place, path in ((1, request.validation), (2, request.test)):
        parts[place] = parts[place] if path is None else read_images(path, data.axes)
    train, validation, test = parts
    for name, part in (("training", train), ("validation", validation)):
        require_part(request.file, name, part)
    assert train is not None
    assert validation is not None
    test = test if test is not None and len(test) else None
    preparation = ImagePreparation.fit(train, layout)
    allowed = bool(data.allow_unseen)
    sequences = [
        preparation.apply(train),
        preparation.apply(validation, allow_unseen=allowed or request.validation is None),
        None if test is None else preparation.apply(test, allow_unseen=allowed or request.test is None),
    ]
    assert sequences[0] is not None
    assert sequences[1] is not None
    notes = [describe_parts(words, *sequences, words="images")]
    resolved = {
        "data": {"layout": layout},
        "split": {"how": "random", "stratify": stratify} if request.is_split else {},
    }
    task = Classification(len(preparation.classes))
    return Prepared(task, preparation, sequences[0], sequences[1], sequences[2], resolved, notes)


def usual_patch(shape: tuple[int, int, int]) -> int:
    """Choose the largest square patch that divides an image into at least 16, else the largest that divides it.

    >>> usual_patch((1, 28, 28)), usual_patch((1, 8, 8))
    (7, 2)
    """
    _, height, width = shape
    sides = [side for side in range(1, min(height, width) + 1) if height % side == 0 and width % side == 0]
    enough = [side for side in sides if (height // side) * (width // side) >= LEAST_PATCHES]
    return max(enough, default=sides[0])
