from clew.data import as_table, describe
from clew.files import dump_json

COLUMNS = {
    "id": ["a", "a", "a", "b", "b", "b", "c"],
    "time": [1, 2, 5, 1, 2, 5, 9],
    "x": [1.0, None, 3.0, 1.0, None, 3.0, 5.0],
    "colour": ["red", "blue", "red", "red", "blue", "red", "red"],
    "label": ["u", "u", "u", "v", "v", "v", "v"],
}


def test_a_description_counts_what_is_there() -> None:
    about = describe(as_table(COLUMNS, missing="keep"))
    assert about.lengths == {"shortest": 1, "median": 3.0, "mean": 7 / 3, "longest": 3, "of_one_step": 1}
    assert about.duplicates == {"sequences": 1, "with_another_label": 1}
    assert (
        about.classes is not None and about.classes["counts"] == {"u": 1, "v": 2} and about.classes["of"] == "sequences"
    )
    assert about.time is not None
    assert about.time["usual_step"] == 1 and about.time["gaps"] == 2 and about.time["steps_missing_in_gaps"] == 4
    by_name = {column["name"]: column for column in about.columns}
    assert by_name["x"]["missing"] == 2 and by_name["x"]["mean"] == 2.6
    assert by_name["colour"]["most_frequent"] == {"red": 5, "blue": 2}
    assert '"with_another_label": 1' in dump_json(about.to_json())


def test_the_text_says_it_in_lines() -> None:
    lines = describe(as_table(COLUMNS, missing="keep")).table().splitlines()
    assert lines[0] == "table: frame, a row a step, 3 sequences, 7 steps"
    assert "steps: irregular, usually 1; 2 gaps, the longest 3, 4 steps missing" in lines
    assert "equal sequences: 1, 1 of them with another label" in lines
    assert "'label' in sequences: 2 values: u 1, v 2" in lines


def test_each_task_says_what_it_would_do_or_what_it_lacks() -> None:
    tasks = describe(as_table(COLUMNS, missing="keep")).tasks
    assert tasks["classification"].startswith("predicts which of 2 classes each of 3 sequences has")
    assert tasks["regression"] == "not as it is: column 'label' must be numbers, which regression predicts, got text."
    assert tasks["forecasting"] == "not as it is: 1 sequences have one step."
    assert tasks["next_token"] == (
        "not as it is: what next_token reads must be one column of tokens, got x (numbers), colour (text). "
        "Name the column of tokens with categorical."
    )
    without = describe(as_table({"x": [1.0, 2.0]})).tasks
    assert without["tagging"].startswith("not as it is: the label must be a column of the table")
