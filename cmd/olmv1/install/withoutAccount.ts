import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import { controllerSubject } from "../../../pkg/rbac/installerManifests.ts";

/** The flag with which operator-controller installs what names no ServiceAccount with its own rights. */
const PERMITTING = /^--?service-account-fallback[= ]controller$/;

/**
 * Looks whether operator-controller installs extensions that name no ServiceAccount; where its Deployment may not be read, or is none, it has to be tried.
 * @throws Error that says what to do where it does not.
 */
export async function requireFallback(client: Pick<Client, "get">, systemNamespace: string): Promise<void> {
  const { name, namespace } = controllerSubject(systemNamespace);
  const args = await argsOf(client, namespace, name);
  if (!args || permits(args)) return;
  throw new Error(
    `operator-controller of this cluster installs nothing without a ServiceAccount (Deployment ${goQuote(`${namespace}/${name}`)} has no --service-account-fallback=controller): ` +
      "--create-service-account makes one with the rights that the bundle needs; config/overlays/cluster-admin is for clusters where all extensions may do everything",
  );
}

/** Arguments of a program, each flag with its value whether they stand in one or in two. */
function permits(args: readonly string[]): boolean {
  return args.some((arg, i) => PERMITTING.test(arg) || PERMITTING.test(`${arg} ${args[i + 1] ?? ""}`));
}

async function argsOf(client: Pick<Client, "get">, namespace: string, name: string): Promise<string[] | undefined> {
  try {
    const live = await client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace, name });
    const spec = live?.["spec"] as { template?: { spec?: { containers?: { args?: string[] }[] } } } | undefined;
    return live && (spec?.template?.spec?.containers ?? []).flatMap(({ args = [] }) => args);
  } catch (err) {
    if (isForbidden(err)) return undefined;
    throw err;
  }
}
