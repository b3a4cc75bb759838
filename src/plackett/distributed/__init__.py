"""An objective whose data are in parts, on this machine or on many: a sum over partitions is an objective too."""
