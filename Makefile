# Targets. They need only python3 with its headers, a package index for pip, and make:
#   make demo      train, compare and explain rankers on built-in data; ends with a report
#   make test      the whole test suite
#   make kernels   compile the kernels again; with BUILDS=all for every x86-64 processor too, not only for this one
#   make check     ruff, mypy, and the schemas of workflows, issue forms and CITATION.cff
#   make checked   the kernel tests with bounds checks of every index
#   make sanitize  the kernel tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   make portable  the kernels compiled for arm64 and macOS
#   make docs      the site; make docs-check also checks its links, sizes and accessibility
#   make engines   tests of exports with packages that conflict with those of the other tests
#   make dist      sdist and wheels, tested without a compiler: minimal, each extra alone, oldest and newest dependencies
#   make reproductions  run the quick experiments of five papers for the site; OPTIONS= runs them in full
#   make cluster-check  trees on clusters of this machine, with faults and measurements, into docs/scale.md; Spark; MLflow
#   make api       rewrite tests/api.txt, the public names and signatures
#   make bench     the benchmarks: a table, a file and a page with charts; make bench-compare A=OLD.json B=NEW.json
PYTHON ?= python3
BIN := .venv/bin
# pip's warnings about the system's own settings are not about plackett; errors are shown
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
BUILDS := auto
say = @echo "plackett: $(1)" >&2

.PHONY: demo test kernels builds engines check checked sanitize portable dist bench bench-compare cluster-check api reproductions docs docs-check clean

demo: .venv/installed
	$(BIN)/python examples/demo.py

kernels: .venv/build-tools
	$(call say,compiling the kernels (build: $(BUILDS)) ...)
	$(INSTALL) --no-deps -C cmake.define.PLACKETT_BUILDS=$(BUILDS) -e .

# that the builds agree; afterwards the checkout has both of them
builds: .venv/installed-test
	$(MAKE) kernels BUILDS=all
	$(BIN)/python -m pytest -q tests/_native/test_bindings.py tests/_native/test_builds.py

# The tests start hundreds of processes, each of which takes a second longer without bytecode files.
test: .venv/installed-test .venv/installed-axe
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal

# eland requires an older pandas; the functions used here need none of its other dependencies.
engines: .venv/installed-test
	$(PIP) --no-deps --upgrade --target .venv/engines eland elasticsearch elastic-transport
	$(BIN)/python -m pytest -n 2 tests/exporting

check: .venv/installed-check
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

# Tests of the kernels, run with another build instead of the installed one.
KERNEL_TESTS := tests/_native tests/data tests/losses tests/metrics tests/scorers tests/solvers tests/text \
    tests/objective tests/storage/test_mapped.py tests/evaluation/test_significance.py tests/rankers/test_read_only.py \
    $(addprefix tests/rankers/,linear boosting trees query_dependent refinement recommendation)
# only the build that this processor loads
WITH_BUILD = $(BUILD) $(BIN)/cmake -G Ninja -S . -B build/$@ $(ZIG_OPTIONS) -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
    -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DPLACKETT_BUILDS=$$($(BIN)/python -c 'from plackett import _native; print(_native.build)')
# worker processes load the installed build, whose results differ by rounding
TEST_BUILD = PLACKETT_TEST_BUILD=build/$@ $(BIN)/python -m pytest -q $(KERNEL_TESTS) \
    --deselect tests/rankers/query_dependent/test_ranker.py::test_results_do_not_depend_on_workers

checked: .venv/installed-test
	$(WITH_BUILD) -DPLACKETT_CHECKED=ON && $(BIN)/cmake --build build/$@
	$(TEST_BUILD)

# Python is not instrumented, so the sanitizer's library is preloaded, and the C++ library, without which exceptions abort the
# process. Leaks are not checked because Python keeps objects until it exits, nor is mixing free and delete, which
# another package does. One test measures memory, which the sanitizer changes.
SANITIZER = LD_PRELOAD="$$($(COMPILER) -print-file-name=libasan.so) $$($(COMPILER) -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0
sanitize: .venv/installed-test
	@test -n "$(COMPILER)" || { echo "make sanitize needs gcc, whose sanitizers it loads" >&2; exit 1; }
	$(WITH_BUILD) -DPLACKETT_SANITIZE=ON && $(BIN)/cmake --build build/$@
	$(SANITIZER) $(TEST_BUILD) --deselect tests/storage/test_mapped.py::test_fits_evaluations_and_comparisons_take_a_small_share_of_the_rows

# Only compiles, for other processors and systems, with the headers of this Python.
TARGETS := aarch64-linux-gnu x86_64-macos aarch64-macos
portable: .venv/build-tools
	$(PIP) ziglang
	mkdir -p build; for target in $(TARGETS); do for source in $$(find src/plackett/_native -name '*.cpp'); do \
	    $(BIN)/python -m ziglang c++ -target $$target -std=c++20 -fopenmp-simd -Wall -Wno-unknown-pragmas -O1 -c -o build/portable.o \
	        -DPLACKETT_MODULE=_baseline -Isrc/plackett/_native \
	        -I$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))') $$source || exit 1; \
	done; echo "$$target: compiled"; done

bench: .venv/installed-test
	$(BIN)/python -m benchmarks

bench-compare: .venv/installed-test
	$(BIN)/python -m benchmarks.changes $(A) $(B)

# about 15 minutes of two cores; Spark needs Java 17, without which its test is skipped with the reason
cluster-check: .venv/installed-test
	$(PIP) 'pyspark[sql]' mlflow-skinny
	$(BIN)/python -m pytest -q -rs tests/test_recipes.py
	$(BIN)/python -m benchmarks.cluster_trees

api: .venv/installed-test
	$(BIN)/python tools/api.py

# e.g. make dist PYTHONS="python3.11 python3.12 python3.13": one wheel, tested in all
PYTHONS = $(PYTHON)
dist: .venv/bin/python
	$(PIP) packaging
	$(BIN)/python tools/dist.py $(PYTHONS)

OPTIONS := --quick
reproductions: .venv/installed-test
	mkdir -p build; for paper in featurerank refinement p-listmle qsvm kernel-cs-listmle; do \
	    $(BIN)/plackett reproduce $$paper $(OPTIONS) --json > build/paper.json \
	        && $(BIN)/python -m json.tool --compact --no-ensure-ascii build/paper.json docs/reproductions/$$paper.json \
	        || exit 1; done

docs: .venv/installed-docs
	rm -rf docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -j auto -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# links, sizes, accessibility, and code that is cut off, in a browser
docs-check: docs .venv/installed-axe
	PLACKETT_SITE=docs/_build/html $(BIN)/python -m pytest -q tests/test_site.py

clean:
	rm -rf .venv .demo build dist docs/_build

.venv/bin/python:
	$(PYTHON) -m venv .venv

# The kernels are compiled at installation, by the system's compiler, or else by zig from the package index.
COMPILER := $(shell command -v c++ || command -v g++ || command -v clang++)
ZIG := $(abspath .venv/bin/zig)
# cmake's compiler checks do not link: zig would compile its C++ library for them, and again for the kernels
ZIG_OPTIONS := $(if $(COMPILER),,-DCMAKE_AR=$(ZIG)-ar -DCMAKE_RANLIB=$(ZIG)-ranlib -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY)
BUILD := $(if $(COMPILER),,CXX=$(ZIG)-c++ CMAKE_ARGS="$(ZIG_OPTIONS)")
INSTALL := PATH="$(abspath $(BIN)):$$PATH" $(BUILD) $(PIP) --no-build-isolation
# Repeated when a kernel changed, and when a module was added or removed, because an editable install has a list of modules.
SOURCES := pyproject.toml CMakeLists.txt $(shell find src/plackett -type d -not -name __pycache__) \
    $(shell find src/plackett/_native -name '*.[hc]pp')

.venv/build-tools: .venv/bin/python
	$(call say,fetching the tools of the build ...)
	$(PIP) 'scikit-build-core>=0.11' cmake ninja $(if $(COMPILER),,ziglang)
	$(if $(COMPILER),,for tool in c++ ar ranlib; do \
	    printf '#!/bin/sh\nexec "%s" -m ziglang %s "$$@"\n' "$(abspath $(BIN)/python)" $$tool > $(ZIG)-$$tool; \
	    chmod +x $(ZIG)-$$tool; done)
	@$(BIN)/python -c 'import os, sysconfig; path = sysconfig.get_path("include"); \
	    os.path.exists(path + "/Python.h") or exit("no Python.h in " + path + ": install the headers of this Python (Debian: python3-dev)")'
	touch $@

.venv/installed: .venv/build-tools $(SOURCES)
	$(call say,compiling the kernels and fetching numpy scipy scikit-learn and matplotlib: about 100 s on two cores ...)
	$(INSTALL) -e '.[report]'
	touch $@

.venv/installed-test: .venv/build-tools $(SOURCES)
	$(call say,compiling the kernels and fetching the packages of the tests: about 3 minutes on two cores ...)
	$(BIN)/python tools/torch_cpu.py
	$(INSTALL) -e '.[test]'
	touch $@ .venv/installed

# axe-core, with which browser tests check the accessibility of pages
.venv/installed-axe: tests/package.json .venv/bin/python
	npm install --prefix tests --no-package-lock --no-audit --no-fund --silent \
	    || echo "no npm or no axe-core here: tests of accessibility will skip" >&2
	touch $@

.venv/installed-check: .venv/installed-test
	$(INSTALL) -e '.[check]'
	touch $@

.venv/installed-docs: .venv/installed-test
	$(INSTALL) -e '.[docs]'
	touch $@
