"""Tables with columns of numbers, dates, categories and text, made into one matrix of numbers.

Files and data frames are prepared by the same rules: :func:`kernelwise.files.read_table` reads a file into a
:class:`~kernelwise.tables.columns.Table`, and :func:`~kernelwise.tables.frames.as_table` turns a data frame into one.
Read the modules in this order: :mod:`.notation` and :mod:`.dates` say how people write numbers and dates, :mod:`.kinds`
says what kind of values a column holds, :mod:`.columns` keeps columns with their kinds, :mod:`.frames` makes tables of
data frames, :mod:`.encoders` turns one column into features, and :mod:`.preparation` does so for a whole table.
"""
