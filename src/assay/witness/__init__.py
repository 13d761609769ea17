"""Evidence beyond one database: a database on which two queries differ, or a proof that there is none."""
