# syntax=docker/dockerfile:1

# The same release as rust-toolchain.toml.
ARG RUST_VERSION=1.95.0

FROM rust:${RUST_VERSION}-bookworm AS build
WORKDIR /src
COPY . .
# target/ is a cache mount that exists only during this step, so the binary is copied out of it here.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --locked --release --bin setguard \
    && install -D -m 0755 target/release/setguard /out/setguard

# Contains glibc and CA certificates, but no shell and no package manager. The same Debian release as the builder.
FROM gcr.io/distroless/cc-debian12:nonroot
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="setguard" \
      org.opencontainers.image.description="Admission control for Kubernetes DaemonSets, StatefulSets and the pods of node daemons" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/setguard /setguard
# The user nonroot, as a number: the kubelet cannot verify from a name that the user is not root.
USER 65532:65532
# The webhooks (HTTPS), and the probes and metrics (plain HTTP).
EXPOSE 8443 8080
ENTRYPOINT ["/setguard"]
CMD ["serve"]
