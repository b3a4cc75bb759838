"""Applications on the library: access control, the scoring service and the workbench."""
