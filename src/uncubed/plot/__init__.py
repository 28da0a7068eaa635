"""Figures of a search, with matplotlib: `pip install uncubed[plot]`.

Each function draws on the axes it is given, or on a new figure, and returns the figure. None touches `pyplot`, so that
no display is needed; notebooks show what is returned, and `figure.savefig` writes it. However long the search was, some
thousands of points are drawn.
"""

from uncubed.plot._belief import posterior, slices
from uncubed.plot._params import importance, parallel_coordinates
from uncubed.plot._told import information, progress

__all__ = ["importance", "information", "parallel_coordinates", "posterior", "progress", "slices"]
