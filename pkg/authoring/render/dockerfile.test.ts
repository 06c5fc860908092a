import { describe, expect, test } from "vitest";
import { parseLabels, renderCatalogDockerfile } from "./dockerfile.ts";

const FIRST = `# The builder image is expected to contain
# /bin/opm (with serve subcommand)
FROM example.com/opm as builder

# Copy FBC root into image at /configs and pre-populate serve cache
ADD catalog /configs
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]
`;
const LAST = `
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache

# Set FBC-specific label for the location of the FBC root directory
# in the image
LABEL operators.operatorframework.io.index.configs.v1=/configs
`;
const OPTIONS = { folder: "catalog", base: "example.com/base", builder: "example.com/opm", labels: new Map<string, string>() };

// Source: C-25.
describe("renderCatalogDockerfile", () => {
  test("renderCatalogDockerfile returns a Dockerfile that serves the catalog with opm", () => {
    expect(renderCatalogDockerfile(OPTIONS)).toBe(`${FIRST}
FROM example.com/base
# The base image is expected to contain
# /bin/opm (with serve subcommand) and /bin/grpc_health_probe

# Configure the entrypoint and command
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]
${LAST}`);
  });

  test("renderCatalogDockerfile returns a Dockerfile with only the catalog when the base image is scratch", () => {
    expect(renderCatalogDockerfile({ ...OPTIONS, base: "scratch" })).toBe(`${FIRST}
FROM scratch
# OLMv0 CatalogSources that use binary-less images must set:
# spec:
#   grpcPodConfig:
#     extractContent:
#       catalogDir: /configs
#       cacheDir: /tmp/cache
${LAST}`);
  });

  test("renderCatalogDockerfile adds labels at the end, sorted by name", () => {
    const labels = parseLabels(["vendor=example", "a.b/c=x=y", "empty="]);
    expect(renderCatalogDockerfile({ ...OPTIONS, labels }).slice(-100)).toBe(
      `${LAST}\n# Set other custom labels\nLABEL "a.b/c"="x=y"\nLABEL "empty"=""\nLABEL "vendor"="example"\n`.slice(-100),
    );
  });

  test.for<[string, Partial<typeof OPTIONS>, string]>([
    ["no base image", { base: "" }, "base image is unset"],
    ["no folder", { folder: "" }, "index directory is unset"],
    ["builder scratch", { builder: "scratch" }, 'invalid builder image: "scratch"'],
    ["a base image that would be two lines", { base: "a\nRUN x" }, 'invalid base image: "a\\nRUN x"'],
    ["a folder with a space", { folder: "my catalog" }, 'invalid index directory: "my catalog"'],
    ["a label with a quote", { labels: new Map([["a", 'b"']]) }, 'invalid label "a=b\\""'],
  ])("renderCatalogDockerfile rejects %s", ([, given, error]) => {
    expect(() => renderCatalogDockerfile({ ...OPTIONS, ...given })).toThrow(error);
  });

  test.for(["x", "=x", ""])("parseLabels rejects %j", (text) => {
    expect(() => parseLabels([text])).toThrow(`invalid label "${text}"`);
  });
});
