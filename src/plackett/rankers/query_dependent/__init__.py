"""Query-dependent SVMs: q-SVM, kNN-SVM and individual SVMs."""
