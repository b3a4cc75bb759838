"""Code shared by several verbs: inputs, options, tables and files."""
