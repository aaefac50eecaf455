"""Arrays as text and as HTML."""
