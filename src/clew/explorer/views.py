"""The seven views, in the order of the navigation. A new view is a file with a `View` and a line here."""

from clew.explorer.attention import ATTENTION
from clew.explorer.audit import AUDIT
from clew.explorer.change import CHANGE
from clew.explorer.keep import KEEP
from clew.explorer.recurrence import RECURRENCE
from clew.explorer.run import RUN
from clew.explorer.view import View
from clew.explorer.way import WAY

VIEWS: tuple[View, ...] = (WAY, ATTENTION, RECURRENCE, CHANGE, RUN, AUDIT, KEEP)
BY_NAME: dict[str, View] = {view.name: view for view in VIEWS}
