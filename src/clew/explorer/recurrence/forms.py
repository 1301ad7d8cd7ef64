"""Fields of the forms of the view "Recurrence", each with a label; every form has a button and needs no script.

A slider shows the value that the server computed with; the browser computes none.
"""

from markupsafe import Markup

from clew.rendering.markup import element


def number_field(name: str, words: str, value: int, least: int, most: int) -> Markup:
    """Write a field for a whole number."""
    identifier = f"field-{name}"
    field = element(
        "input",
        {
            "type": "number",
            "id": identifier,
            "name": name,
            "value": str(value),
            "min": str(least),
            "max": str(most),
            "step": "1",
            "required": "required",
        },
    )
    return element("span", {"class": "labelled"}, element("label", {"for": identifier}, words), field)


def submit(words: str, identifier: str) -> Markup:
    """Write the button of a form."""
    return element("button", {"type": "submit", "id": identifier}, words)


def slider(name: str, identifier: str, words: str, value: float, least: float, most: float) -> Markup:
    """Write a slider with its label, and the value that the numbers of the page were computed with."""
    attributes = {
        "type": "range",
        "id": identifier,
        "name": name,
        "value": f"{value:.12g}",
        "min": f"{least:.12g}",
        "max": f"{most:.12g}",
        "step": "any" if round(value, 2) != value else "0.01",
    }
    shown = element("output", {"for": identifier, "id": f"{identifier}-value"}, f"{value:.6g}")
    return element("label", {"for": identifier}, words) + element("input", attributes) + shown
