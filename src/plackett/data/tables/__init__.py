"""Tables as judged lists: data frames, CSV, TSV, Arrow and SQLite files, and the roles of their columns."""
