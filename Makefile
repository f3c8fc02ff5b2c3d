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
CFLAGS     ?= -O2 -g
PROFILE    ?= release# release | debug | cov
SAN        ?=# address,undefined | thread
V          ?=# 1 shows the commands
PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR     ?= $(PREFIX)/bin
DESTDIR    ?=
INSTALL    ?= install
PKG_CONFIG ?= pkg-config

# ---- derived --------------------------------------------------------------------------------------
ver     = $(shell sed -n 's/^\#define XSEG_VERSION_$(1) //p' include/xseg/xseg.h)
VERSION := $(call ver,MAJOR).$(call ver,MINOR).$(call ver,PATCH)
SONAME  := libxseg.so.$(call ver,MAJOR)
comma   := ,
B       := build/$(PROFILE)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(Q),@printf '  %-5s %s\n' $(1) $@)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Wundef -Wwrite-strings
override CPPFLAGS += -Iinclude -Isrc -D_GNU_SOURCE
override CFLAGS   += -std=c11 -fPIC -fvisibility=hidden -pthread $(WARN) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
                     $(if $(filter debug,$(PROFILE)),-O1 -DXS_DEBUG=1) $(if $(filter cov,$(PROFILE)),-O0 --coverage -DXS_DEBUG=1)
override LDFLAGS  += -pthread $(if $(SAN),-fsanitize=$(SAN)) $(if $(filter cov,$(PROFILE)),--coverage)
LDLIBS            := -ldl -lm

FLOORS   := base driver policy stats vmm heap host cache core report api
LIB_SRC  := $(sort $(wildcard $(addsuffix /*.c,$(addprefix src/,$(FLOORS)))))
LIB_SRC  := $(filter-out src/driver/abi_check.c,$(LIB_SRC))
CLI_SRC  := $(sort $(wildcard src/cli/*.c))
SIM_SRC  := $(sort $(wildcard src/sim/*.c))
UNIT     := $(sort $(wildcard tests/unit/test_*.c))
obj       = $(patsubst %.c,$B/%.o,$(1))

# ---- build ----------------------------------------------------------------------------------------
## all: libxseg.a, libxseg.so, the program xseg, the simulator sim/libcuda.so.1
.PHONY: all
all: $B/libxseg.a $B/libxseg.so $B/xseg $B/sim/libcuda.so.1

$B/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$B/libxseg.a: $(call obj,$(LIB_SRC))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$B/$(SONAME): $(call obj,$(LIB_SRC)) src/api/xseg.map
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=src/api/xseg.map $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ $(filter %.o,$^) $(LDFLAGS) $(LDLIBS)

$B/libxseg.so: $B/$(SONAME)
	$(Q)ln -sf $(SONAME) $@

$B/sim/libcuda.so.1: $(call obj,$(SIM_SRC))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-soname,libcuda.so.1 -o $@ $(filter %.o,$^) $(LDFLAGS) $(LDLIBS)


$B/xseg: $(call obj,$(CLI_SRC)) $B/libxseg.a
	$(call say,LD)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS) $(LDLIBS)

$B/tests/%: $B/tests/%.o $B/libxseg.a
	$(call say,LD)
	$(Q)$(CC) -o $@ $^ $(LDFLAGS) $(CMOCKA_LIBS) $(LDLIBS)

# ---- check ----------------------------------------------------------------------------------------
## check-unit: every tests/unit/test_*.c, one process each, over the simulator
.PHONY: check-unit
CMOCKA_LIBS ?= $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null || echo -lcmocka)
check-unit: $(patsubst %.c,$B/%,$(UNIT)) $B/sim/libcuda.so.1
	$(Q)for t in $(filter %,$(patsubst %.c,$B/%,$(UNIT))); do XSEG_TEST_SIM=$B/sim/libcuda.so.1 $$t || exit 1; done

## clean: remove build/
.PHONY: clean
clean: ; $(Q)rm -rf build

## help: this list
.PHONY: help
help: ; @sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST)) | awk -F': ' '{ printf "  %-18s %s\n", $$1, $$2 }'

-include $(shell find $B -name '*.d' 2>/dev/null)
