"""The datasets of the evaluation: the paper's, their stand-ins, and files of one's own."""
