import { Deadline } from "../../../pkg/async/clock.ts";
import { type Breach, IMAGE_CHECKS } from "../../../pkg/authoring/lint/lintRule.ts";
import type { NamedImage } from "../../../pkg/authoring/lint/lintedCatalog.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { loginsOf } from "../../../pkg/oci/registry/authFile.ts";
import { parsePullReference } from "../../../pkg/oci/reference.ts";
import { RegistryError } from "../../../pkg/oci/registry/registryError.ts";
import { RegistryAccess } from "../../../pkg/oci/registry/registryAccess.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ReaderOptions } from "../rbac/bundleReader.ts";
import { homedir } from "node:os";

/** Images that are asked for at a time. */
const PARALLEL = 8;
/** For one image, with all of its mirrors. */
const TIMEOUT_MS = 60_000;
const NOT_FOUND = 404;

type ImageFinding = Breach & { readonly rule: keyof typeof IMAGE_CHECKS; readonly severity: "error" | "warning" };

/** Asks the registries, mirrors first, whether they have each image, a few at a time. @param told after each one. @throws AbortError with Ctrl-C. */
export async function checkImages(
  images: readonly NamedImage[],
  { registriesConf, authFile }: ReaderOptions,
  { env, signal }: Pick<Terminal, "env" | "signal">,
  told: (done: number, all: number) => void,
): Promise<ImageFinding[]> {
  const log = createLogger({ component: "olmv1", level: "silent" });
  const access = new RegistryAccess({ registriesConf, logins: loginsOf(authFile, env, homedir()), env, log });
  const findings: ImageFinding[] = [];
  const waiting = images.values();
  let done = 0;
  const worker = async (): Promise<void> => {
    for (const image of waiting) {
      signal.throwIfAborted();
      const finding = await checkImage(image, access, signal);
      if (finding) findings.push(finding);
      told(++done, images.length);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(PARALLEL, images.length) }, worker));
  } finally {
    await access.close();
  }
  return findings;
}

async function checkImage(
  { image, subject, path }: NamedImage,
  access: RegistryAccess,
  signal: AbortSignal,
): Promise<ImageFinding | undefined> {
  const finding = (rule: keyof typeof IMAGE_CHECKS, message: string): ImageFinding => ({
    rule,
    severity: IMAGE_CHECKS[rule].severity,
    subject,
    path,
    message,
  });
  try {
    using deadline = new Deadline(signal, TIMEOUT_MS);
    await access.look(parsePullReference(image), deadline.signal);
    return undefined;
  } catch (err) {
    signal.throwIfAborted();
    if (isMissing(err)) return finding("image-missing", `image ${image} is not in its registry: ${messageOf(err)}`);
    return finding("image-unchecked", `image ${image} could not be asked for: ${messageOf(err)}`);
  }
}

function isMissing(err: unknown): boolean {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof RegistryError) return e.status === NOT_FOUND;
  return false;
}
