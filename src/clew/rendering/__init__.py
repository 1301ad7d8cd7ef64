"""Numbers, tables, charts and pages for people; knows no model and serves files, notebooks and the explorer alike.

Start with `clew.rendering.page` for a whole page, `clew.rendering.tables` for a table, `clew.rendering.charts` and
`clew.rendering.heat_maps` for pictures. All of it works without torch.
"""
