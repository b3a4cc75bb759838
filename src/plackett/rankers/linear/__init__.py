"""Linear rankers: losses with a solver, PRank and SVM-map."""
