"""Tables with columns of numbers, dates, categories and text, made into one matrix of numbers.

Files and data frames are prepared by the same rules: :func:`kernelwise.files.read_table` reads a file into a
:class:`~kernelwise.tables.columns.Table`, and :func:`~kernelwise.tables.frames.as_table` turns a data frame into one.
Read the modules in this order: :mod:`.notation` says how people write numbers, :mod:`.kinds` how they write dates and
what kind of values a column holds, :mod:`.columns` keeps columns with their kinds, :mod:`.frames` makes tables of data
frames, and :mod:`.preparation` turns one column, and a whole table, into features.
"""
