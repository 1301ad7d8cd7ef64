"""`clew explore`: look around inside a model in the browser.

The server keeps nothing between requests: the address holds the whole view (`address.py`). A `Scene` is one model that
read one input, with its ledger (`scene.py`); the `Studio` makes scenes and keeps a few (`studio.py`). Each view is a
file that turns a scene into sections of a page (`view.py`, `views.py`). Start with `clew.explorer.application`.
"""
