# xseg -- the one Makefile.  `make help` lists the targets; everything built lands in build/<variant>/.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

# ---- what a user may set on the command line ----------------------------------------------------
ifeq ($(origin CC),default)
CC := cc
endif
ifeq ($(origin AR),default)
AR := ar
endif
PROFILE    ?= release# release | debug | cov
SAN        ?=# address,undefined | thread
V          ?=# 1 shows the commands
T          ?=# check-*: only the tests whose name contains this
CFLAGS     ?= $(OPT_$(PROFILE)) -g
CPPFLAGS   ?=
LDFLAGS    ?=
PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR     ?= $(PREFIX)/bin
PYTHONDIR  ?= $(PREFIX)/lib/xseg/python
DESTDIR    ?=
INSTALL    ?= install
PKG_CONFIG ?= pkg-config
CLANG      ?= clang
CUDA_HOME  ?= /usr/local/cuda
FUZZ_SECONDS ?= 60# fuzz: for each target
FUZZ_ROUNDS  ?= 20000# check-fuzz: inputs for each target
STEPS      ?=# check-model: random operations for each policy; empty: the test's own number

# ---- derived --------------------------------------------------------------------------------------
ver     = $(shell sed -n 's/^\#define XSEG_VERSION_$(1) //p' include/xseg/xseg.h)
MAJOR   := $(call ver,MAJOR)
VERSION := $(MAJOR).$(call ver,MINOR).$(call ver,PATCH)
SONAME  := libxseg.so.$(MAJOR)
comma   := ,
B       := build/$(PROFILE)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(Q),@printf '  %-5s %s\n' $(1) $@)

OPT_release := -O2
OPT_debug   := -O1 -DXS_DEBUG=1
OPT_cov     := -O0 -DXS_DEBUG=1
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Wundef -Wwrite-strings
SAN_FLAGS   := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
COV_FLAGS   := $(if $(filter cov,$(PROFILE)),--coverage)
XS_CPPFLAGS := -Iinclude -Isrc -I. -D_GNU_SOURCE $(CPPFLAGS)
XS_CFLAGS   := -std=c11 -fPIC -fvisibility=hidden -pthread $(WARN) $(SAN_FLAGS) $(COV_FLAGS) $(CFLAGS)
XS_LDFLAGS  := -pthread $(SAN_FLAGS) $(COV_FLAGS) $(LDFLAGS)
LDLIBS      := -ldl -lm
CMOCKA_LIBS ?= $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null || echo -lcmocka)

FLOORS  := base driver policy stats vmm heap host cache core ipc report api
LIB_SRC := $(sort $(wildcard $(addsuffix /*.c,$(addprefix src/,$(FLOORS)))))
LIB_SRC := $(filter-out src/driver/abi_check.c,$(LIB_SRC))
PRE_SRC := $(sort $(filter-out %_abi_check.c,$(wildcard src/preload/*.c)))
SIM_SRC := $(sort $(wildcard src/sim/*.c))
CLI_SRC := $(sort $(filter-out src/cli/main.c,$(wildcard src/cli/*.c)) $(wildcard bench/*.c))
obj      = $(patsubst %.c,$B/%.o,$(1))

# ---- build ----------------------------------------------------------------------------------------
## all: libxseg.a, libxseg.so, libxseg_preload.so, the program xseg, the simulator sim/libcuda.so.1
.PHONY: all
all: $B/libxseg.a $B/libxseg.so $B/libxseg_preload.so $B/xseg $B/sim/libcuda.so.1

# The library alone, where nobody has asked for something else: a tenth fewer instructions for a miss.
ifeq ($(PROFILE)-$(origin CFLAGS),release-file)
$(call obj,$(LIB_SRC)): XS_CFLAGS += -O3
endif

# Objects depend on this file, and it changes with the compiler and its flags.
FLAGS_TEXT := $(CC) $(XS_CPPFLAGS) $(XS_CFLAGS) $(XS_LDFLAGS)
$B/flags: FORCE
	$(shell mkdir -p $(@D))$(file >$@.new,$(FLAGS_TEXT))
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@
.PHONY: FORCE
FORCE:

$B/%.o: %.c Makefile $B/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(XS_CPPFLAGS) $(XS_CFLAGS) -MMD -MP -c -o $@ $<

$B/src/cli/report_page.o: src/cli/report_page.html

$B/libxseg.a: $(call obj,$(LIB_SRC))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$B/$(SONAME): $(call obj,$(LIB_SRC)) src/api/xseg.map
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=src/api/xseg.map \
	    $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ $(filter %.o,$^) $(XS_LDFLAGS) $(LDLIBS)

$B/libxseg.so: $B/$(SONAME)
	$(Q)ln -sf $(SONAME) $@

# Its own references stay its own, whatever else is preloaded; it is never unloaded, since programs hold its
# functions. dlsym has to end in a jump in every build, and to work before a sanitizer does, which asks it.
$(addprefix $B/src/preload/,look_up.o door.o entry.o): XS_CFLAGS += -O2 -foptimize-sibling-calls -fno-sanitize=all
$B/libxseg_preload.so: $(call obj,$(PRE_SRC)) $(call obj,$(LIB_SRC)) src/preload/preload.map
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-soname,libxseg_preload.so -Wl,--version-script=src/preload/preload.map -Wl,-Bsymbolic \
	    -Wl,-z,nodelete $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ $(filter %.o,$^) $(XS_LDFLAGS) $(LDLIBS)

$B/sim/libcuda.so.1: $(call obj,$(SIM_SRC))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-soname,libcuda.so.1 -o $@ $(filter %.o,$^) $(XS_LDFLAGS) $(LDLIBS)

# All of the program but main(), so that tests can link it too.
$B/libcli.a: $(call obj,$(CLI_SRC))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$B/xseg: $B/src/cli/main.o $B/libcli.a $B/libxseg.a
	$(call say,LD)
	$(Q)$(CC) -o $@ $^ $(XS_LDFLAGS) $(LDLIBS)

## demo: build, then replay the traces of bench/traces on the GPU, or on the simulator where there is none
.PHONY: demo
demo: all
	$(Q)$B/xseg replay bench/traces/*.trace.gz

## bench: build the program with the benchmarks: build/release/xseg bench
.PHONY: bench
bench: all

# ---- test programs --------------------------------------------------------------------------------
# In a folder of tests/, each .c with a main() is a program; the other ones are linked into each of them.
# Each fake/*.c becomes a library of its own, for tests to load.
KINDS    := model race fault reports unit snapshot
with_main = $(if $(1),$(shell grep -lwE '(int )?main.(void|int argc)' $(1)))
picked    = $(if $(T),$(foreach p,$(1),$(if $(findstring $(T),$(notdir $p)),$p)),$(1))
define KIND_RULES
$(1)_SRC    := $$(sort $$(wildcard tests/$(1)/*.c))
$(1)_MAIN   := $$(call with_main,$$($(1)_SRC))
$(1)_ALL    := $$(patsubst %.c,$$B/%,$$($(1)_MAIN))
$(1)_RUN    := $$(strip $$(call picked,$$($(1)_ALL)))
$$($(1)_ALL): $$B/%: $$B/%.o $$(call obj,$$(filter-out $$($(1)_MAIN),$$($(1)_SRC))) $$B/libcli.a $$B/libxseg.a
	$$(call say,LD)
	$$(Q)$$(CC) -o $$@ $$^ $$(XS_LDFLAGS) $$(CMOCKA_LIBS) $$(LDLIBS)
endef
$(foreach k,$(KINDS),$(eval $(call KIND_RULES,$k)))

FAKES := $(patsubst %.c,$B/%.so,$(sort $(wildcard tests/*/fake/*.c)))
$(FAKES): $B/%.so: $B/%.o
	$(call say,LD)
	$(Q)$(CC) -shared -o $@ $^ $(XS_LDFLAGS) $(LDLIBS)

# A fuzz target is a plain program with XS_FUZZ_MAIN; `make fuzz` builds it for libFuzzer.
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_ALL := $(patsubst %.c,$B/%,$(FUZZ_SRC))
FUZZ_RUN := $(strip $(call picked,$(FUZZ_ALL)))
$(FUZZ_ALL): $B/%: %.c $B/libcli.a $B/libxseg.a Makefile $B/flags
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(XS_CPPFLAGS) $(XS_CFLAGS) -DXS_FUZZ_MAIN -MMD -MP -o $@ $< $(filter %.a,$^) $(XS_LDFLAGS) $(LDLIBS)

# Programs that know nothing of xseg, for the preload: route.c once for each way to the driver, linked with the
# driver, the runtime library of the tests as an archive or as a library, or neither.
PRE := $B/tests/preload
ROUTES_linked  := linked.1 next.3 default.4
ROUTES_alone   := dlsym.2 proc.5 old_proc.6 per_thread.7 plugin.10
ROUTES_static  := static.8 entry_point_static.9
ROUTES_shared  := shared.8 entry_point_shared.9
ROUTES_ALL     := $(ROUTES_linked) $(ROUTES_alone) $(ROUTES_static) $(ROUTES_shared)
route_file      = $(PRE)/route_$(basename $(1))
PRE_CUDART     := $(PRE)/libcudart.so.13
PRE_PROGRAMS   := $(patsubst %.c,$B/%,$(sort $(filter-out %/route.c,$(call with_main,$(wildcard tests/preload/*.c)))))
PRE_PLUGINS    := $(addprefix $(PRE)/,counter.so injection.so)
PRE_NEEDS      := $(foreach r,$(ROUTES_ALL),$(call route_file,$r)) $(PRE)/plugin.so $(PRE_PLUGINS) \
                  $(PRE)/stub/libcuda.so.1 $(PRE_PROGRAMS) $B/tests/unit/fake/constructed.so
PRE_COMPILE     = $(CC) $(XS_CPPFLAGS) $(XS_CFLAGS) -fvisibility=default -MMD -MP -o $@
PRE_LINK        = $(XS_LDFLAGS) -ldl
$(PRE_CUDART): tests/preload/fake_cudart.c $B/flags
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(PRE_COMPILE) -shared -Wl,-soname,libcudart.so.13 $< $(PRE_LINK)
$(PRE)/plugin.so: tests/preload/plugin.c $(PRE_CUDART)
	$(call say,LD)
	$(Q)$(PRE_COMPILE) -shared $< $(PRE_CUDART) '-Wl,-rpath,$$ORIGIN' $(PRE_LINK)
$(PRE_PLUGINS): $B/%.so: %.c $B/flags
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(PRE_COMPILE) -shared $< $(PRE_LINK)
$(PRE)/stub/libcuda.so.1: tests/preload/stub_driver.c $B/flags
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(PRE_COMPILE) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic $< $(PRE_LINK)
define ROUTE_RULE
$(call route_file,$(1)): tests/preload/route.c $(filter-out -%,$(2)) $B/sim/libcuda.so.1 $B/flags
	@mkdir -p $$(@D)
	$$(call say,LD)
	$$(Q)$$(PRE_COMPILE) -DROUTE=$(patsubst .%,%,$(suffix $(1))) $$< $(2) '-Wl,-rpath,$$$$ORIGIN' $$(PRE_LINK)
endef
$(foreach r,$(ROUTES_linked),$(eval $(call ROUTE_RULE,$r,-Wl$(comma)--no-as-needed $B/sim/libcuda.so.1)))
$(foreach r,$(ROUTES_alone),$(eval $(call ROUTE_RULE,$r,)))
$(foreach r,$(ROUTES_static),$(eval $(call ROUTE_RULE,$r,tests/preload/fake_cudart.c)))
$(foreach r,$(ROUTES_shared),$(eval $(call ROUTE_RULE,$r,$(PRE_CUDART))))
$(PRE_PROGRAMS): $B/%: %.c $(PRE_CUDART) $B/flags
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(PRE_COMPILE) $< $(PRE_CUDART) '-Wl,-rpath,$$ORIGIN' $(PRE_LINK)

EXAMPLES := $(patsubst docs/examples/%.c,$B/docs/examples/%,$(sort $(wildcard docs/examples/*.c)))
$(EXAMPLES): $B/%: %.c include/xseg/xseg.h $B/libxseg.a Makefile $B/flags
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -Iinclude -std=c11 $(WARN) -Werror $(SAN_FLAGS) $(COV_FLAGS) -o $@ $< $B/libxseg.a $(XS_LDFLAGS) $(LDLIBS)

# ---- check ----------------------------------------------------------------------------------------
# A job is NAME|COMMAND; tests/run.sh runs them side by side and adds up what they say.
export XSEG_TEST_SIM   := $(abspath $B/sim/libcuda.so.1)
export XSEG_TEST_FAKES := $(abspath $B/tests/unit/fake)
WRAP     ?=# a command put before each test program, such as valgrind
LABEL    ?=
export XSEG_TEST_WRAP := $(WRAP)
export CUDA_HOME
ifneq ($(STEPS),)
export XSEG_MODEL_STEPS := $(STEPS)
endif
# Where tests/KIND/run.sh exists, it runs the programs of that kind: run.sh PROGRAM.
short     = $(patsubst $B/tests/%,%,$(1))
script    = $(wildcard tests/$(firstword $(subst /, ,$(short)))/run.sh)
job       = '$(short)|$(if $(script),sh $(script),$(if $(findstring test_sim_,$(1)),env -u XSEG_SIM_CAPACITY) $(WRAP)) $(1) $(2)'
jobs_of   = $(foreach p,$($(1)_RUN),$(call job,$p))
fuzz_jobs = $(foreach p,$(FUZZ_RUN),$(call job,$p,$(FUZZ_ROUNDS)))
cli_jobs  = 'cli|sh tests/cli/run.sh $B/xseg $B/sim/libcuda.so.1 $(if $(T),*$(T)*)'
preload_jobs = 'preload|sh tests/preload/run.sh $B $T'
lint_jobs = $(foreach s,floors functions calls globals format,'lint/$s|sh tests/lint/check_$s.sh $B')
rest_jobs = 'docs|sh tests/lint/check_docs.sh $B' 'exports|sh tests/lint/check_exports.sh $B' \
            'abi|sh tests/lint/check_abi.sh' 'headers|sh tests/lint/check_headers.sh' \
            $(foreach e,$(EXAMPLES),'example/$(notdir $e)|$e $B/sim/libcuda.so.1') \
            'torch|sh tests/torch/run.sh $B' 'cxx|sh tests/cxx/run.sh $B' \
            'install|sh tests/lint/check_install.sh B=$B PROFILE=$(PROFILE) SAN=$(SAN)'
RUN       = $(Q)CC='$(CC)' tests/run.sh -o $B/tests/logs $(if $(LABEL),-l $(LABEL))
PROGRAMS  = $(foreach k,$(KINDS),$($k_RUN)) $(FUZZ_RUN)
NEEDS     = all $(FAKES) $(PRE_NEEDS)

## check: everything that needs no GPU: all test programs, the program's own tests, lint, docs, ABI
.PHONY: check
check: $(NEEDS) $(PROGRAMS) $(EXAMPLES)
	$(RUN) $(foreach k,$(KINDS),$(call jobs_of,$k)) $(fuzz_jobs) $(cli_jobs) $(preload_jobs) \
	    $(if $(T),,$(lint_jobs) $(rest_jobs))

## check-unit check-model check-fault check-reports: one kind of test program; T=heap picks by name
.PHONY: $(addprefix check-,$(filter-out race,$(KINDS)))
define KIND_CHECK
check-$(1): $$(NEEDS) $$($(1)_RUN)
	$$(RUN) $$(call jobs_of,$(1))
endef
$(foreach k,$(filter-out race,$(KINDS)),$(eval $(call KIND_CHECK,$k)))

## check-preload: programs of many kinds under libxseg_preload.so, and without it
.PHONY: check-preload
check-preload: all $(PRE_NEEDS)
	$(RUN) $(preload_jobs)

## check-cli: the program's golden tests; tests/cli/run.sh --update rewrites what they expect
## check-fuzz: the fuzz targets as ordinary tests, FUZZ_ROUNDS inputs each
.PHONY: check-cli check-fuzz
check-cli: all
	$(RUN) $(cli_jobs)
check-fuzz: $(FUZZ_RUN)
	$(RUN) $(fuzz_jobs)

## check-programs: all test programs and the golden tests, in the variant that PROFILE and SAN say
.PHONY: check-programs
check-programs: $(NEEDS) $(PROGRAMS) $(EXAMPLES)
	$(RUN) $(foreach k,$(KINDS),$(call jobs_of,$k)) $(fuzz_jobs) $(if $(WRAP),,$(cli_jobs) $(preload_jobs)) \
	    $(foreach e,$(EXAMPLES),'example/$(notdir $e)|$(WRAP) $e $B/sim/libcuda.so.1')

## asan tsan ubsan: check-programs under that sanitizer, in its own build folder, with fewer random steps (tsan without fault)
## valgrind: unit tests, model and fuzz targets under memcheck; VALGRIND_KINDS='unit model fault' for more
.PHONY: asan tsan ubsan valgrind
VALGRIND_KINDS ?= unit model
TSAN_KINDS     ?= race model reports unit
FEWER := $(if $(STEPS),,STEPS=20000 FUZZ_ROUNDS=4000)
asan:  ; $(Q)$(MAKE) check-programs PROFILE=debug SAN=address LABEL=asan $(FEWER)
ubsan: ; $(Q)$(MAKE) check-programs PROFILE=debug SAN=undefined LABEL=ubsan $(FEWER)
tsan:  ; $(Q)$(MAKE) check-programs PROFILE=debug SAN=thread LABEL=tsan KINDS='$(TSAN_KINDS)' $(FEWER)
valgrind: ; $(Q)XSEG_SIM_CAPACITY=8G $(MAKE) check-programs PROFILE=debug LABEL=valgrind KINDS='$(VALGRIND_KINDS)' $(if $(STEPS),,STEPS=500 FUZZ_ROUNDS=200) \
    WRAP='valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite'

## check-race: tests/race and the other tests that start threads, under ThreadSanitizer
.PHONY: check-race race-programs
RACE_SRC := $(wildcard tests/race/*.c) $(shell grep -l pthread_create tests/*/*.c 2>/dev/null)
RACE_RUN := $(filter $(patsubst %.c,$B/%,$(RACE_SRC)),$(PROGRAMS))
check-race: ; $(Q)$(MAKE) race-programs PROFILE=debug SAN=thread LABEL=race
race-programs: $(NEEDS) $(RACE_RUN)
	$(RUN) $(foreach p,$(RACE_RUN),$(call job,$p))

## fuzz: the fuzz targets under libFuzzer (clang), FUZZ_SECONDS each
.PHONY: fuzz fuzz-run
FUZZERS := $(addsuffix .libfuzzer,$(FUZZ_RUN))
fuzz: ; $(Q)$(MAKE) fuzz-run CC=$(CLANG) PROFILE=debug SAN=fuzzer-no-link,address,undefined
$(addsuffix .libfuzzer,$(FUZZ_ALL)): $B/%.libfuzzer: $B/%.o $B/libcli.a $B/libxseg.a
	$(call say,LD)
	$(Q)$(CC) -fsanitize=fuzzer -o $@ $^ $(XS_LDFLAGS) $(LDLIBS)
fuzz-run: $(FUZZERS)
	$(Q)set -e; for f in $^; do mkdir -p $$f.corpus; (cd $$f.corpus && \
	    $(abspath .)/$$f -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -verbosity=0 .); done

## cov: line coverage of src/ by the test programs
.PHONY: cov cov-run
cov: ; $(Q)$(MAKE) cov-run PROFILE=cov $(FEWER)
cov-run:
	$(Q)find $B -name '*.gcda' -delete 2>/dev/null || true
	$(Q)$(MAKE) check-programs
	$(Q)sh tests/cov.sh $B

# ---- lint -----------------------------------------------------------------------------------------
FORMATTED = $(sort $(wildcard include/xseg/*.h src/*/*.[ch] bench/*.[ch] bench/peer/*.[ch] tests/*/*.[ch] tests/*/fake/*.[ch] docs/examples/*.c))
CLANG_FORMAT ?= clang-format
CLANG_TIDY   ?= clang-tidy
export CLANG_FORMAT

## lint: floors, lengths, driver calls, globals, format
.PHONY: lint
lint: all
	$(RUN) $(lint_jobs)

## format format-check: clang-format 14 over all C files, or only say which differ
.PHONY: format format-check
format: ; $(Q)$(CLANG_FORMAT) -i $(FORMATTED)
format-check: ; $(Q)sh tests/lint/check_format.sh

## tidy: clang-tidy over src/ and bench/, with the checks of .clang-tidy
.PHONY: tidy
tidy: ; $(Q)$(CLANG_TIDY) --quiet $(LIB_SRC) $(SIM_SRC) $(CLI_SRC) src/cli/main.c -- $(XS_CPPFLAGS) -std=c11

## docs: write docs/options.md, docs/statistics.md, docs/preload_entries.md and alloc.conf.example from their tables
## check-docs: fail if one of them differs from its table
.PHONY: docs check-docs
docs: $B/xseg
	$(Q)$B/xseg conf --options >docs/options.md
	$(Q)$B/xseg conf --statistics >docs/statistics.md
	$(Q)$B/xseg conf --preload >docs/preload_entries.md
	$(Q)$B/xseg conf --example >alloc.conf.example
check-docs: $B/xseg
	$(Q)sh tests/lint/check_docs.sh $B

## check-abi: our copy of the CUDA driver's ABI against cuda.h (CUDA_HOME), if there is one; the exported symbols
.PHONY: check-abi
check-abi: $B/libxseg.so
	$(RUN) 'abi|sh tests/lint/check_abi.sh' 'exports|sh tests/lint/check_exports.sh $B'

# ---- install: one list, used by both ways --------------------------------------------------------
# The simulator lies where the installed program looks for it: ../lib/xseg/sim beside its folder.
SIMDIR := $(PREFIX)/lib/xseg/sim
FILES  := $(foreach h,$(wildcard include/xseg/*.h include/xseg/*.hpp),644:$h:$(INCLUDEDIR)/xseg/$(notdir $h)) \
          755:$B/xseg:$(BINDIR)/xseg 644:$B/libxseg.a:$(LIBDIR)/libxseg.a \
          755:$B/$(SONAME):$(LIBDIR)/libxseg.so.$(VERSION) 644:$B/xseg.pc:$(LIBDIR)/pkgconfig/xseg.pc \
          755:$B/libxseg_preload.so:$(LIBDIR)/libxseg_preload.so \
          755:$B/sim/libcuda.so.1:$(SIMDIR)/libcuda.so.1 644:src/api/xseg_torch.py:$(PYTHONDIR)/xseg_torch.py
LINKS  := libxseg.so.$(VERSION):$(LIBDIR)/$(SONAME) $(SONAME):$(LIBDIR)/libxseg.so
DIRS   := $(INCLUDEDIR)/xseg $(SIMDIR) $(PYTHONDIR) $(PREFIX)/lib/xseg

$B/xseg.pc: src/xseg.pc.in include/xseg/xseg.h FORCE
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	    -e 's|@VERSION@|$(VERSION)|' $< > $@

## install: under DESTDIR, PREFIX (also LIBDIR INCLUDEDIR BINDIR PYTHONDIR)
.PHONY: install
install: all $B/xseg.pc
	$(Q)set -e; for f in $(FILES); do IFS=:; set -- $$f; unset IFS; $(INSTALL) -D -m $$1 $$2 "$(DESTDIR)$$3"; done
	$(Q)set -e; for l in $(LINKS); do ln -sf $${l%%:*} "$(DESTDIR)$${l#*:}"; done

## uninstall: remove exactly what install put there
.PHONY: uninstall
uninstall:
	$(Q)for f in $(FILES) $(LINKS); do rm -f "$(DESTDIR)$${f##*:}"; done
	$(Q)for d in $(DIRS); do rmdir "$(DESTDIR)$$d" 2>/dev/null || true; done

## dist: build/xseg-VERSION.tar.gz, from git
.PHONY: dist
dist:
	@mkdir -p build
	$(Q)git archive --format=tar.gz --prefix=xseg-$(VERSION)/ -o build/xseg-$(VERSION).tar.gz HEAD
	@echo build/xseg-$(VERSION).tar.gz

## clean: remove build/
.PHONY: clean
clean: ; $(Q)rm -rf build

## help: this list
.PHONY: help
help: ; @sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST)) | \
    awk '{ at = index($$0, ": "); printf "  %-26s %s\n", substr($$0, 1, at - 1), substr($$0, at + 2) }'

-include $(shell find $B -name '*.d' 2>/dev/null)
