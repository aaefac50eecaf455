"""Arrays in the engines that carry objects between processes and machines."""
