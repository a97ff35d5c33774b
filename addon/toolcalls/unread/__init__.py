"""Events that pass without being read: those like one that was read, told by their bytes. It exists for speed."""
