"""Adapters: how the kit imports each library, makes its arrays, and calls its from_dlpack."""
