"""Planted faults of data that was split: what two splits share, what was fitted to all of them, what says the label."""

import numpy

from clew.checks.planted.plant import Plant

ROWS = 60
CUTS = (36, 48)


def table(**more):
    """A series: a time, three features and a label that no feature gives away; all rows differ."""
    values = numpy.random.default_rng(9).normal(size=(ROWS, 3))
    label = numpy.random.default_rng(8).integers(0, 3, size=ROWS)
    columns = {"t": numpy.arange(ROWS), "a": values[:, 0], "b": values[:, 1], "c": values[:, 2], "y": label}
    return columns | more


def cut(columns, order=None, gap=0):
    """Cut at two places, the rows in an order; `gap` rows are left out before each later split."""
    order = numpy.arange(ROWS) if order is None else order
    parts = order[: CUTS[0]], order[CUTS[0] + gap : CUTS[1]], order[CUTS[1] + gap :]
    names = ("train", "validation", "test")
    return {name: {key: value[part] for key, value in columns.items()} for name, part in zip(names, parts, strict=True)}


def named(columns, **more):
    """Audit a table that was cut in the order of time."""
    return lambda: cut(columns()) | {"time": "t", "label": "y"} | more


def shuffled():
    """An order by chance."""
    return numpy.random.default_rng(1).permutation(ROWS)


def copied(change=lambda values: values):
    """A table in which a row of train stands in test again, changed."""
    columns = table()
    for name in "abc":
        columns[name][55] = change(columns[name][5])
    columns["y"][55] = columns["y"][5]
    return columns


def oversampled(order):
    """Rows that were made three each: split afterwards in an order by chance, or kept together."""
    columns = {name: numpy.repeat(value[: ROWS // 3], 3) for name, value in table().items() if name != "t"}
    return lambda: cut(columns, order) | {"label": "y"}


def texts(last):
    """Twelve sentences, of which the last may be the first again."""
    words = ["the", "cat", "sat", "on", "a", "red", "mat", "and", "slept", "well"]
    order = numpy.random.default_rng(3).permuted(numpy.tile(words, (12, 1)), axis=1)
    sentences = [" ".join(row) for row in order]
    sentences[11] = sentences[11] if last is None else last(sentences[0])
    return lambda: {"train": {"s": sentences[:8]}, "validation": None, "test": {"s": sentences[8:]}}


def units(order):
    """Six units of ten rows, split by unit or by row."""
    columns = table(unit=numpy.repeat(numpy.arange(5), 12))
    return lambda: cut(columns, order) | {"group": "unit", "label": "y"}


def windows(order, gap):
    """Windows of a series of five observed steps and two targets, told by time."""
    return lambda: cut(table(), order, gap) | {"time": "t", "label": "y", "window": 5, "horizon": 2}


def arrays(order, gap):
    """The same as arrays (rows, time, features), without a time."""
    series = numpy.random.default_rng(2).normal(size=(ROWS + 6, 2)).cumsum(axis=0)
    rows = numpy.stack([series[start : start + 7] for start in range(ROWS)])
    return lambda: (
        {name: columns["w"] for name, columns in cut({"w": rows}, order, gap).items()} | {"window": 5, "horizon": 2}
    )


def scaler_of_train(train, validation, test):
    """Mean and spread of train."""
    return {"mean": train["a"].mean(), "spread": train["a"].std()}


def scaler_of_all(train, validation, test):
    """Mean and spread of everything."""
    return scaler_of_train({"a": numpy.concatenate([train["a"], validation["a"], test["a"]])}, None, None)


def encoder_of_train(train, validation, test):
    """Mean feature of each class of train."""
    return {str(label): train["a"][train["y"] == label].mean() for label in numpy.unique(train["y"])}


def encoder_of_all(train, validation, test):
    """Mean feature of each class, held-out rows with their targets among them."""
    columns = {name: numpy.concatenate([train[name], test[name]]) for name in ("a", "y")}
    return encoder_of_train(columns, None, None)


def vocabulary_of_train(train, validation, test):
    """Words of train."""
    return {"words": sorted(set(train["word"].tolist()))}


def vocabulary_of_all(train, validation, test):
    """Words of train and test."""
    return {"words": sorted(set(train["word"].tolist()) | set(test["word"].tolist()))}


def clip_by_rows(train, validation, test):
    """A limit that depends on how many rows there are in all."""
    return {"limit": train["a"].std() * numpy.sqrt(2 * numpy.log(len(train["a"]) + len(test["a"])))}


def clip_by_train(train, validation, test):
    """A limit that depends on train alone."""
    return {"limit": train["a"].std() * numpy.sqrt(2 * numpy.log(len(train["a"])))}


def with_words():
    """A table with a column of words."""
    return table(word=numpy.array(["low", "mid", "high", "top"])[numpy.random.default_rng(4).integers(0, 4, ROWS)])


def with_label_as(say):
    """A table with a column made of the label."""
    return lambda: (lambda columns: columns | {"more": say(columns["y"])})(table())


def with_value(say):
    """A table with a real-valued label, and a column made of it."""
    value = numpy.random.default_rng(6).normal(size=ROWS).cumsum()
    return lambda: table(y=value, more=say(value))


def data_plant(name, check, faulty, repaired, source=""):
    """A plant that is audited as data."""
    return Plant(name, check, faulty, repaired, source, kind="data")


WORDS = numpy.array(["low", "mid", "high"])
NOISE = numpy.random.default_rng(7).normal(size=ROWS)
APART = numpy.arange(ROWS)
PLANTS = (
    data_plant("rows split by chance", "split_overlap", lambda: cut(table(), shuffled()) | {"time": "t", "label": "y"},
               named(table)),
    data_plant("train after test", "split_overlap", lambda: cut(table(), APART[::-1]) | {"time": "t", "label": "y"},
               named(table)),
    data_plant("rows of a unit split by chance", "split_overlap", units(shuffled()), units(None), "RUL #12"),
    data_plant("windows split by chance", "window_overlap", windows(shuffled(), 0), windows(None, 2),
               "Diffusion-TS #67"),
    data_plant("windows split without a gap", "window_overlap", windows(None, 0), windows(None, 2),
               "Informer2020 #297"),
    data_plant("arrays of windows split by chance", "window_overlap", arrays(shuffled(), 0), arrays(None, 2),
               "traffic4cast PR #22"),
    data_plant("scaler of everything", "fitted_on_test", named(table, statistics=scaler_of_all),
               named(table, statistics=scaler_of_train), "darts #573"),
    data_plant("class means with held-out targets", "fitted_on_test", named(table, statistics=encoder_of_all),
               named(table, statistics=encoder_of_train), "neuralforecast #853"),
    data_plant("vocabulary of everything", "fitted_on_test", named(with_words, statistics=vocabulary_of_all),
               named(with_words, statistics=vocabulary_of_train)),
    data_plant("limit by the number of all rows", "fitted_on_test", named(table, statistics=clip_by_rows),
               named(table, statistics=clip_by_train)),
    data_plant("row copied", "duplicate_rows", named(copied), named(table)),
    data_plant("row copied and rounded", "duplicate_rows", named(lambda: copied(lambda value: round(value, 3))),
               named(table)),
    data_plant("oversampled before the split", "duplicate_rows", oversampled(shuffled()), oversampled(None)),
    data_plant("sentence in other letters", "duplicate_rows", texts(lambda text: f"{text.upper()}. "), texts(None)),
    data_plant("label in other words", "label_in_features", named(with_label_as(lambda label: WORDS[label])),
               named(with_label_as(lambda label: WORDS[label[::-1]]))),
    data_plant("label in other units", "label_in_features", named(with_value(lambda value: 1.8 * value + 32)),
               named(with_value(lambda value: 1.8 * value + 32 + NOISE))),
    data_plant("logarithm of the label", "label_in_features", named(with_value(lambda value: numpy.exp(value / 5))),
               named(with_value(lambda value: numpy.exp(value / 5) + NOISE))),
    data_plant("label of the next row", "label_in_features", named(with_value(lambda value: numpy.roll(value, -1))),
               named(with_value(lambda value: numpy.roll(value, 1))), "darts #1822"),
)  # fmt: skip
