"""Use cases of the workbench, independent of HTTP: searching, judging, measuring, training, files."""
