import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { getErrorMessage } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { readBounded } from "../digest.ts";
import { RejectedError } from "../imageErrors.ts";
import type { Reference } from "../reference.ts";
import { KeyTrust } from "../signers/keyTrust.ts";
import { parsePublicKey } from "../signers/publicKey.ts";
import type { SignerTrust, TrustRoots } from "../signers/signerTrust.ts";
import { findApplicable, selectLayoutRequirements } from "./applicable.ts";
import { type ImagePolicySource, NO_IMAGE_POLICIES } from "./imagePolicies.ts";
import { findUnconditionalRefusal, type ReadyRequirement } from "./judge.ts";
import {
  INSECURE_POLICY,
  type LayoutTransport,
  listUnsupportedScopes,
  type Policy,
  type PolicyRequirement,
  parsePolicy,
} from "./policyFile.ts";
import type { TextSource } from "./trustRoots.ts";

/** Path of the policy; `required` means that a user configured it, so the file must exist. */
export interface PolicyPlace {
  readonly file: string;
  readonly required?: boolean;
}

/** The requirements for one image. */
export interface ImageRequirements {
  readonly list: readonly ReadyRequirement[];
  /** Whether any requirement needs signatures. */
  readonly needSignatures: boolean;
}

/** Options of `requirementsFor`. */
interface RequirementsOptions {
  readonly namespace?: string | undefined;
  readonly signal: AbortSignal;
}

const POLICY_BYTES = 4 * 1024 * 1024;
const KEY_BYTES = 64 * 1024;
/** Maximum size of certificates of authorities, and of a trusted root; the public one has 7 KiB. */
const AUTHORITIES_BYTES = 1024 * 1024;
const NO_POLICY = "none";

/**
 * Returns the default path of containers-policy.json(5): the user's file if it exists, else
 * /etc/containers.
 */
export function getDefaultPolicyPlace(home: string): PolicyPlace {
  const userFile = join(home, ".config/containers/policy.json");
  return { file: existsSync(userFile) ? userFile : "/etc/containers/policy.json" };
}

/**
 * The current signature policy. Reads the file and its key files again for each image, so that a
 * rotated key takes effect immediately.
 */
export class SignaturePolicy {
  readonly #place: () => PolicyPlace;
  readonly #log: Logger;
  readonly #cluster: ImagePolicySource | undefined;
  /** The last logged policy. */
  #reported: string | undefined;

  /**
   * @param place called for each image
   * @param cluster the image policies of the cluster; undefined: none
   */
  constructor(place: () => PolicyPlace, log: Logger, cluster?: ImagePolicySource) {
    this.#place = place;
    this.#log = log;
    this.#cluster = cluster;
  }

  /**
   * Returns the requirements for an image.
   * @param ref requested reference, before mirrors apply; with a tag or a digest
   * @param o.namespace the namespace whose ImagePolicies apply; undefined: none
   * @throws RejectedError if the image is rejected regardless of its signatures; Error `error
   * loading policy context: …` for an invalid policy, which rejects all images
   */
  async requirementsFor(ref: Reference, { namespace, signal }: RequirementsOptions): Promise<ImageRequirements> {
    const [policy, policies] = await Promise.all([this.#load(), this.#cluster?.policies(signal) ?? NO_IMAGE_POLICIES]);
    const { requirements } = findApplicable(policy, ref, policies, namespace);
    for (const requirement of requirements) {
      const refused = findUnconditionalRefusal(requirement, ref);
      if (refused) throw new RejectedError(refused.message, { problems: refused.problems });
    }
    const list = await Promise.all(requirements.map(ready));
    return { list, needSignatures: list.some(({ type }) => type === "sigstoreSigned") };
  }

  /**
   * Checks whether an image in a layout is accepted. Signatures in layouts are not supported, so
   * any requirement rejects the image.
   * @param layout.path absolute, without symlinks
   * @throws RejectedError; Error as `requirementsFor`
   */
  async requireLayout(layout: { transport: LayoutTransport; path: string; name: string }): Promise<void> {
    const { transport, path, name } = layout;
    const { requirements } = selectLayoutRequirements(await this.#load(), transport, path, name);
    const text = `${transport}:${path}${name === "" ? "" : `:${name}`}`;
    for (const { type } of requirements) {
      if (type === "insecureAcceptAnything") continue;
      if (type === "reject") throw new RejectedError(`Running image ${text} is rejected by policy.`);
      throw new RejectedError(
        `A signature was required, but no signature exists; signatures in layouts are not supported, so ${text} is accepted only if the policy sets "insecureAcceptAnything" for transport ${goQuote(transport)}`,
      );
    }
  }

  async #load(): Promise<Policy> {
    const place = this.#place();
    try {
      const text = await readPolicyText(place);
      if (text === undefined) {
        if (this.#isNew(NO_POLICY)) this.#log.info({ looked: place.file }, "no default policy found, using insecure policy");
        return INSECURE_POLICY;
      }
      const policy = prefixErrors(`invalid policy in ${goQuote(place.file)}`, () => parsePolicy(text));
      if (this.#isNew(`${place.file}\n${createHash("sha256").update(text).digest("hex")}`)) this.#report(place, policy);
      return policy;
    } catch (err) {
      throw new Error(`error loading policy context: error loading signature policy: ${getErrorMessage(err)}`, { cause: err });
    }
  }

  #report({ file }: PolicyPlace, policy: Policy): void {
    const byDefault = policy.default.map(({ type }) => type);
    this.#log.info({ file, default: byDefault, scopes: policy.docker.size }, "signature policy in force");
    const unsupported = listUnsupportedScopes(policy);
    if (Object.keys(unsupported).length > 0)
      this.#log.warn({ file, unsupported }, "signature policy has unsupported requirements: images in these scopes are rejected");
  }

  #isNew(fingerprint: string): boolean {
    const isNew = fingerprint !== this.#reported;
    this.#reported = fingerprint;
    return isNew;
  }
}

/**
 * Reads the roots of trust of a requirement. @throws RejectedError if one cannot be read, because
 * the requirement cannot be checked
 */
async function ready(requirement: PolicyRequirement): Promise<ReadyRequirement> {
  if (requirement.type !== "sigstoreSigned") return requirement;
  const { roots, origin, ...others } = requirement;
  try {
    return { ...others, origin, trust: await createTrust(await readRoots(roots)) };
  } catch (err) {
    const policy = origin ?? "the signature policy";
    throw new RejectedError(`cannot use a key in ${policy}: ${getErrorMessage(err)}`, { cause: err });
  }
}

async function createTrust(roots: TrustRoots<string>): Promise<SignerTrust> {
  if (roots.kind === "keys" && roots.logs.length === 0) return new KeyTrust(roots.keys.map(parsePublicKey));
  const { createSignerTrust } = await import("../signers/keylessTrust.ts");
  return createSignerTrust(roots);
}

async function readRoots(roots: TrustRoots<TextSource>): Promise<TrustRoots<string>> {
  const readAll = (sources: readonly TextSource[]): Promise<string[]> =>
    Promise.all(sources.map((source) => readSource(source, KEY_BYTES)));
  const read = (source: TextSource): Promise<string> => readSource(source, AUTHORITIES_BYTES);
  if (roots.kind === "keys") return { ...roots, keys: await readAll(roots.keys), logs: await readAll(roots.logs) };
  if (roots.kind === "fulcio") return { ...roots, authorities: await read(roots.authorities), logs: await readAll(roots.logs) };
  if (roots.kind === "trustedRoot") return { ...roots, root: await read(roots.root) };
  return { ...roots, authorities: await read(roots.authorities), intermediates: roots.intermediates && (await read(roots.intermediates)) };
}

async function readSource(source: TextSource, limit: number): Promise<string> {
  return "text" in source ? source.text : readText(source.path, limit);
}

async function readPolicyText({ file, required = false }: PolicyPlace): Promise<string | undefined> {
  try {
    return await readText(file, POLICY_BYTES);
  } catch (err) {
    if (!required && (err as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw err;
  }
}

async function readText(path: string, limit: number): Promise<string> {
  const file = await open(path);
  try {
    return (await readBounded(file.createReadStream({ autoClose: false }), limit)).toString("utf8");
  } finally {
    await file.close();
  }
}

function prefixErrors<T>(doing: string, work: () => T): T {
  try {
    return work();
  } catch (err) {
    throw new Error(`${doing}: ${getErrorMessage(err)}`, { cause: err });
  }
}
