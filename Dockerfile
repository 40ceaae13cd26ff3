# syntax=docker/dockerfile:1

# The same release as rust-toolchain.toml.
ARG RUST_VERSION=1.95.0

FROM rust:${RUST_VERSION}-bookworm AS build
WORKDIR /src
COPY . .
# target/ is a cache and gone after this step, so the binary is taken out of it here.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --locked --release --bin setguard \
    && install -D -m 0755 target/release/setguard /out/setguard

# glibc and CA certificates, no shell, no package manager; the same Debian as the build.
FROM gcr.io/distroless/cc-debian12:nonroot
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="setguard" \
      org.opencontainers.image.description="Admission control for Kubernetes DaemonSets, StatefulSets and the pods of node daemons" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/setguard /setguard
# nonroot, as a number: the kubelet cannot tell from a name that it is not root.
USER 65532:65532
# Webhooks, and the plain port of probes and metrics.
EXPOSE 8443 8080
ENTRYPOINT ["/setguard"]
CMD ["serve"]
