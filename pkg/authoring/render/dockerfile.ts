import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";

/** Options for the Dockerfile of a catalog image. */
export interface DockerfileOptions {
  /** Folder of the catalog, next to the Dockerfile. */
  readonly folder: string;
  readonly base: string;
  readonly builder: string;
  readonly labels: ReadonlyMap<string, string>;
}

/** Default builder and base image, like in opm. */
export const OPM_IMAGE = "quay.io/operator-framework/opm:latest";
/** The empty base image. */
const SCRATCH = "scratch";

const SERVER = `# The base image is expected to contain
# /bin/opm (with serve subcommand) and /bin/grpc_health_probe

# Configure the entrypoint and command
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]
`;
const CONTENT_ONLY = `# OLMv0 CatalogSources that use binary-less images must set:
# spec:
#   grpcPodConfig:
#     extractContent:
#       catalogDir: /configs
#       cacheDir: /tmp/cache
`;

/**
 * Returns the Dockerfile of a catalog image, with labels sorted by name.
 * @throws Error, like opm, for an unset image or folder and for builder `scratch`; also for values that a Dockerfile cannot contain.
 * @see C-25
 */
export function renderCatalogDockerfile({ folder, base, builder, labels }: DockerfileOptions): string {
  if (base === "") throw new Error("base image is unset");
  if (folder === "") throw new Error("index directory is unset");
  if (builder === SCRATCH || /\s/.test(builder)) throw new Error(`invalid builder image: ${goQuote(builder)}`);
  for (const [what, text] of Object.entries({ "base image": base, "index directory": folder }))
    if (/\s/.test(text)) throw new Error(`invalid ${what}: ${goQuote(text)}: must not contain white space`);
  return `# The builder image is expected to contain
# /bin/opm (with serve subcommand)
FROM ${builder} as builder

# Copy FBC root into image at /configs and pre-populate serve cache
ADD ${folder} /configs
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]

FROM ${base}
${base === SCRATCH ? CONTENT_ONLY : SERVER}
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache

# Set FBC-specific label for the location of the FBC root directory
# in the image
LABEL operators.operatorframework.io.index.configs.v1=/configs
${labelLines(labels)}`;
}

/** Parses labels such as `vendor=example`. @throws Error `invalid label "…"`. */
export function parseLabels(texts: readonly string[]): Map<string, string> {
  return new Map(
    texts.map((text) => {
      const [key = "", ...value] = text.split("=");
      if (value.length === 0 || key === "") throw new Error(`invalid label ${goQuote(text)}`);
      return [key, value.join("=")];
    }),
  );
}

function labelLines(labels: ReadonlyMap<string, string>): string {
  if (labels.size === 0) return "";
  const lines = [...labels]
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, value]) => {
      // Values are not escaped, so characters that would end the string or the line are rejected.
      if (/["\\\r\n]/.test(key + value))
        throw new Error(`invalid label ${goQuote(`${key}=${value}`)}: must not contain quotes, backslashes or line breaks`);
      return `LABEL "${key}"="${value}"\n`;
    });
  return `\n# Set other custom labels\n${lines.join("")}`;
}
