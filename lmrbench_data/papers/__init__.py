"""The authors' PDFs: fetch or add them, keep them in the user's cache, turn them into text.

PDFs never enter the repository or the dataset, because their licences differ. Our own summary
(`paper_text`) needs no PDF.
"""
