# syntax=docker/dockerfile:1

# The same release as rust-toolchain.toml.
ARG RUST_VERSION=1.95.0
# debug-nonroot has a shell, /busybox/sh, as pipelines need it.
ARG VARIANT=nonroot

# Runs on the machine that builds, whatever the image is for: rustc and gcc are cross compilers, and no compiler is emulated.
FROM --platform=$BUILDPLATFORM rust:${RUST_VERSION}-bookworm AS build
ARG BUILDARCH
ARG TARGETARCH
WORKDIR /src
# For the other architecture: a C compiler, which is the linker too, with its libc, Rust's standard library, and what runs the program
# while it counts what it does.
# hadolint ignore=DL3008
RUN case "$TARGETARCH" in \
        amd64) cpu=x86_64; gcc="gcc-x86-64-linux-gnu" ;; \
        arm64) cpu=aarch64; gcc="gcc-aarch64-linux-gnu" ;; \
        *) echo "there is no image for $TARGETARCH" >&2; exit 1 ;; \
    esac \
    && echo "$cpu-unknown-linux-gnu" > /target \
    && : > /runner \
    && if [ "$TARGETARCH" != "$BUILDARCH" ]; then \
        apt-get update \
        && apt-get install --yes --no-install-recommends "$gcc" "libc6-dev-$TARGETARCH-cross" qemu-user \
        && rm -rf /var/lib/apt/lists/* \
        && echo "qemu-$cpu -L /usr/$cpu-linux-gnu" > /runner \
        && rustup target add "$cpu-unknown-linux-gnu"; \
    fi
COPY . .
ARG PROFILE=dist
ENV CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=x86_64-linux-gnu-gcc
# target/ is a cache mount that exists only during this step, so the binary is copied out of it here. The largest pages of memory
# that Linux may have on arm64 have 64 KiB. The program is first built to find out what it often does.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    if [ "$TARGETARCH" = arm64 ]; then export JEMALLOC_SYS_WITH_LG_PAGE=16; fi \
    && if [ "$PROFILE" = dist ]; then \
        RUNNER="$(cat /runner)" .ci/profile "$(cat /target)" || exit 1; \
        export RUSTFLAGS="-Cprofile-use=$PWD/target/setguard.profdata"; \
    fi \
    && cargo build --locked --features jemalloc --profile "$PROFILE" --bin setguard --target "$(cat /target)" \
    && install -D -m 0755 "target/$(cat /target)/$PROFILE/setguard" /out/setguard

# Contains glibc and CA certificates, but no shell and no package manager. The same Debian release as the builder.
FROM gcr.io/distroless/cc-debian12:${VARIANT}
ARG VARIANT
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="setguard" \
      org.opencontainers.image.description="Admission control for Kubernetes DaemonSets, StatefulSets and the pods of node daemons" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/setguard/setguard" \
      org.opencontainers.image.url="https://setguard.io" \
      org.opencontainers.image.documentation="https://setguard.io" \
      org.opencontainers.image.vendor="setguard" \
      org.opencontainers.image.base.name="gcr.io/distroless/cc-debian12:${VARIANT}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/setguard /setguard
# The user nonroot, as a number: the kubelet cannot verify from a name that the user is not root.
USER 65532:65532
# The webhooks (HTTPS), and the probes and metrics (plain HTTP).
EXPOSE 8443 8080
ENTRYPOINT ["/setguard"]
CMD ["serve"]
