# The developer's front door: each target installs what it needs, then does one thing.

LIB   := .lib
STAMP := $(LIB)/.installed
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

# The files that an installation is made from, without those that configure and the compiler leave there.
SOURCES := DESCRIPTION NAMESPACE configure $(shell find R src inst tests/windows -type f \
  ! -name '*.o' ! -name '*.so' ! -name '*.fatbin' ! -path src/Makevars ! -name symbols.rds ! -name configured.dcf)

# R tracks no headers: when one changed, the objects are made anew, else only those whose own source changed.
HEADERS := %.hpp %.h %.cuh %.def Makevars.in configure

# A bare machine speaks ASCII only, which R CMD check warns of.
ifneq ($(shell locale charmap 2>/dev/null),UTF-8)
export LC_ALL := C.UTF-8
endif

# R's flags without debug information, unless the user has flags of their own.
ifeq ($(R_MAKEVARS_USER)$(wildcard $(HOME)/.R/Makevars*),)
export R_MAKEVARS_USER := $(CURDIR)/tools/Makevars
endif

# R as the tests, the demo and the benchmarks see it: our library first, and the way back to the sources.
RSCRIPT = R_LIBS="$(CURDIR)/$(LIB)$${R_LIBS:+:$$R_LIBS}" KERNWEAVE_SOURCE="$(CURDIR)" Rscript

# Test files side by side; how much of them, tests/testthat/helper-tiers.R says.
# Progress is for a terminal: to report each expectation takes a fifth of a core.
run-tests = NOT_CRAN=true KERNWEAVE_TESTS=$(1) TESTTHAT_PARALLEL=true TESTTHAT_CPUS=$(CORES) $(RSCRIPT) -e \
  'testthat::test_dir("tests/testthat", package = "kernweave", load_package = "installed", \
    reporter = if (isatty(stdout())) testthat::default_reporter() else "check")'

.NOTPARALLEL:
.PHONY: help demo quick test night check gpu current dev docs site bench guard clean setup-demo setup-test setup-check setup-guard

help: ## these lines
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile

demo: setup-demo $(STAMP) ## a volcano kriged from scattered noisy altitudes: kernweave-demo.png
	@$(RSCRIPT) tools/demo.R

quick: setup-test $(STAMP) ## install into .lib/ and run a little of every test: some three minutes of two cores
	@$(call run-tests,quick)

test: setup-test $(STAMP) ## the tests as continuous integration runs them: some minutes
	@$(call run-tests,$(or $(KERNWEAVE_TESTS),usual))

night: ## all that takes hours: every combination, random formulas without end, the check, instructions
	@tools/night.sh

check: setup-check ## scripts, fresh documentation, then R CMD check as CRAN runs it
	@MAKEFLAGS=-j$(CORES) tools/check.sh

gpu: setup-test ## the tests that need a GPU, on a machine that has one and nvcc
	@tools/gpu.sh

current: ## build, test and check under the newest R and compilers, in a folder that is made for it
	@tools/current.sh

dev: ## tell git of the house rules that it is to hold before each commit
	git config core.hooksPath tools/hooks

docs: setup-check ## write what is generated: operations, RcppExports, NAMESPACE, man/
	Rscript tools/ops.R border
	@$(MAKE) --no-print-directory $(STAMP)
	$(RSCRIPT) -e 'roxygen2::roxygenise(load_code = roxygen2::load_installed)'

site: setup-check $(STAMP) ## README, vignettes, help pages and news as a folder of HTML: site/index.html
	@$(RSCRIPT) tools/site.R

bench: setup-demo $(STAMP) ## run the benchmarks
	$(RSCRIPT) bench/run.R
	$(RSCRIPT) bench/peers.R
	$(RSCRIPT) bench/memory.R

guard: setup-guard $(STAMP) ## count instructions a pair, which may not exceed those recorded
	@$(RSCRIPT) bench/instructions.R

clean: ## remove all that was built
	./cleanup
	rm -rf $(LIB) kernweave-demo.png site

setup-demo setup-test setup-check setup-guard:
	@tools/setup.sh $(@:setup-%=%)

$(STAMP): $(SOURCES)
	@tools/install.sh $(LIB) $(CORES) $(if $(filter $(HEADERS),$(notdir $?)),--preclean)
	@touch $@
