"""What several verbs share: inputs, options, tables and files."""
