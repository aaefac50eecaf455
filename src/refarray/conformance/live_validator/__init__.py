"""The live validator: a spy between a real producer and a real consumer, and `refarray trace`."""
