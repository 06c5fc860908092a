import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { getErrorMessage, ignoreMissingFile } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { parsePolicy } from "../oci/policy/policyFile.ts";
import { getDefaultPolicyPlace, type PolicyPlace } from "../oci/policy/signaturePolicy.ts";
import { type Installation, type InstallationOptions, startInstallation } from "./installation.ts";

/** The cluster and registry of a development environment. */
export interface DevEndpoints {
  readonly kubeconfig: string;
  /** Host and port of the registry. */
  readonly registry: string;
  /** The registries.conf for it. */
  readonly registriesConf: string;
  /** Path of the control plane's kubectl, if it has one. */
  readonly kubectl?: string | undefined;
}

/**
 * Returns this machine's signature policy, extended to accept all images from a registry; undefined without a policy, because then all images
 * are accepted.
 * @throws Error for an invalid policy
 */
export async function renderLocalPolicy({ file }: PolicyPlace, registry: string): Promise<string | undefined> {
  const text = await readFile(file, "utf8").catch(ignoreMissingFile);
  if (text === undefined) return undefined;
  try {
    parsePolicy(text);
  } catch (err) {
    throw new Error(`invalid signature policy in ${file}: ${getErrorMessage(err)}`, { cause: err });
  }
  const policy = JSON.parse(text) as { transports?: Record<string, Record<string, unknown>> };
  const docker = { ...policy.transports?.["docker"], [registry]: [{ type: "insecureAcceptAnything" }] };
  return JSON.stringify({ ...policy, transports: { ...policy.transports, docker } });
}

/** Starts the servers with access to the registry, with the signature policy of this machine for all other registries. */
export async function startDevServers(
  admin: Client,
  { kubeconfig, registry, registriesConf }: DevEndpoints,
  workDir: string,
  options: Pick<InstallationOptions, "extraArgs" | "onLine" | "onExit">,
): Promise<Installation> {
  await writeFile(registriesConf, `[[registry]]\nlocation = "${registry}"\ninsecure = true\n`);
  const policy = await renderLocalPolicy(getDefaultPolicyPlace(homedir()), registry);
  const signaturePolicy = policy === undefined ? undefined : join(workDir, "policy.json");
  if (policy !== undefined && signaturePolicy !== undefined) await writeFile(signaturePolicy, policy);
  return startInstallation({ admin, adminKubeconfig: kubeconfig, workDir, registriesConf, signaturePolicy, ...options });
}

const LAUNCHER = join(import.meta.dirname, "../../cmd/olmv1/launch.sh");

/** Creates a folder for the PATH, with olmv1 and the control plane's kubectl, if it has one. @returns its path */
export async function linkPrograms(workDir: string, kubectl: string | undefined): Promise<string> {
  const bin = join(workDir, "bin");
  await mkdir(bin);
  for (const name of ["olmv1", "kubectl-olmv1"]) await symlink(LAUNCHER, join(bin, name));
  if (kubectl !== undefined) await symlink(kubectl, join(bin, "kubectl"));
  return bin;
}
