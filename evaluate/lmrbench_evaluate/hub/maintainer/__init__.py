"""The maintainer's side: fetch a submission, repeat it, and publish the repeated run or report the differences."""
