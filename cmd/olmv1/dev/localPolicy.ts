import { readFile } from "node:fs/promises";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { parsePolicy } from "../../../pkg/oci/policy/policyFile.ts";
import type { PolicyPlace } from "../../../pkg/oci/policy/signaturePolicy.ts";

/**
 * This machine's signature policy with a registry added from which everything is taken; undefined where there is none, since everything is then.
 * @throws Error for a policy that cannot be read
 */
export async function localPolicy({ file }: PolicyPlace, registry: string): Promise<string | undefined> {
  const text = await readFile(file, "utf8").catch((err: NodeJS.ErrnoException) => {
    if (err.code === "ENOENT") return undefined;
    throw err;
  });
  if (text === undefined) return undefined;
  try {
    parsePolicy(text);
  } catch (err) {
    throw new Error(`invalid signature policy in ${file}: ${messageOf(err)}`, { cause: err });
  }
  const policy = JSON.parse(text) as { transports?: Record<string, Record<string, unknown>> };
  const docker = { ...policy.transports?.["docker"], [registry]: [{ type: "insecureAcceptAnything" }] };
  return JSON.stringify({ ...policy, transports: { ...policy.transports, docker } });
}
