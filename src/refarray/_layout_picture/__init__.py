"""The picture of the memory layout that inspect() shows in notebooks and as a page."""
