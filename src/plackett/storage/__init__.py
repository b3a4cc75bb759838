"""Files: one container for arrays, model files, atomic writes, compression, file names and mapped arrays."""
