"""The seven views, in the order of the navigation. A new view is a file with a `View` and a line here."""

from clew.explorer.attention.view import ATTENTION
from clew.explorer.audit.view import AUDIT
from clew.explorer.change.view import CHANGE
from clew.explorer.keep.view import KEEP
from clew.explorer.recurrence.view import RECURRENCE
from clew.explorer.run.view import RUN
from clew.explorer.view import View
from clew.explorer.way.view import WAY

VIEWS: tuple[View, ...] = (WAY, ATTENTION, RECURRENCE, CHANGE, RUN, AUDIT, KEEP)
BY_NAME: dict[str, View] = {view.name: view for view in VIEWS}
