"""Files and command lines made to break things: nothing but the documented errors may come of them."""
