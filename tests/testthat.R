# R CMD check's way into the tests.
library(testthat)
library(kernweave)
test_check("kernweave")
