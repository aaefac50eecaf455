"""The picture on the cards that other sites show for a link to a page of the manual."""

from pathlib import Path

from matplotlib.colors import hsv_to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

ROWS, COLUMNS = 4, 4


def draw(to: Path) -> Path:
    """Draws every other row of a matrix, without its first column, as memory: gaps are grey."""
    figure = Figure(figsize=(2, 2), dpi=200)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, COLUMNS), ylim=(ROWS, 0))
    for row in range(ROWS):
        for column in range(COLUMNS):
            is_element = row % 2 == 0 and column > 0
            hue = (row * COLUMNS + column) / (ROWS * COLUMNS)
            colour = hsv_to_rgb((hue * 0.8, 0.45, 0.95)) if is_element else "#e6e6e6"
            axes.add_patch(Rectangle((column + 0.06, row + 0.06), 0.88, 0.88, facecolor=colour))
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to, transparent=True)
    return to
