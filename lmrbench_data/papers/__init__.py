"""The authors' PDFs: fetched or added by the user, kept in the user's cache, turned into text for prompts.

PDFs never enter the repository or the dataset: their licences differ. Our own summary (`paper_text`) needs none.
"""
