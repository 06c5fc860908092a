# One image with catalogd, operator-controller, permission-manager, the console and the olmv1 command line:
#   docker build -t olmv1 .
#   docker run --rm olmv1 /app/olmv1.js --help
# A Deployment has the program as its first argument: args: [/app/catalogd.js, --health-probe-bind-address=:8081]

# For OpenShift's cluster-olm-operator, add the minor version of the cluster, for the tags of the default catalogs:
#   docker build -t olmv1 --build-arg OPENSHIFT_VERSION=v4.20 .

FROM gcr.io/distroless/nodejs24-debian12:nonroot@sha256:14d42e2511532589a7c7e01a753667a74fcc96266e137e8125006b87b0c32d0a AS base

# The programs are the same for all platforms.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS build
ARG OPENSHIFT_VERSION=""
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --include=optional
COPY . .
RUN node .ci/build.mjs
# The bills of materials also list the base image and its Node.js.
COPY --from=base /nodejs/bin/node /base/node
RUN node release/imageBills.ts dist Dockerfile /base/node
RUN sed -i "s/^    version: \"\"$/    version: \"$OPENSHIFT_VERSION\"/" config/helm/openshift/catalogd.yaml
# Files of a checkout have the permissions of its umask. The image must not depend on them.
RUN chmod -R u=rwX,go=rX dist config LICENSE

FROM base
LABEL org.opencontainers.image.title="olmv1" \
      org.opencontainers.image.description="Operator Lifecycle Manager v1: catalogd, operator-controller, the console and the olmv1 command line" \
      org.opencontainers.image.licenses="Apache-2.0"
# These save tens of megabytes in both servers: docs/adr/0011. A small young generation costs a little more garbage collection. One malloc arena, and
# separate mappings for blocks of 16 KiB or more, leave less unused memory when threads end and buffers are freed.
ENV NODE_ENV=production NODE_OPTIONS=--max-semi-space-size=2 MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=16384 MALLOC_TRIM_THRESHOLD_=65536
COPY --from=build /src/dist /app
COPY --from=build /src/config /config
# The init containers of cluster-olm-operator run it. It has no package.json beside it, so Node.js detects that it is an ES module.
COPY --from=build --chmod=755 /src/dist/cp-manifests.js /cp-manifests
COPY --from=build /src/LICENSE /src/dist/THIRD_PARTY_NOTICES /licenses/
WORKDIR /tmp
USER 65532:65532
ENTRYPOINT ["/nodejs/bin/node"]
CMD ["/app/olmv1.js", "--help"]
