import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { mapInParallel } from "../../pkg/async/concurrency.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { createExtension } from "../support/extensions.ts";

const AT_ONCE = 16;
/** Every tenth extension has a problem. */
const TROUBLED = 10;

/** Returns the name of an extension; names are in the order of the list. */
export function getExtensionName(index: number): string {
  return `bench-${String(index).padStart(4, "0")}`;
}

/** Creates extensions with a status like that of installed ones. No controller reconciles them. */
export async function createInstalledExtensions(client: Client, count: number): Promise<void> {
  await mapInParallel(
    Array.from({ length: count }, (_, i) => i),
    AT_ONCE,
    async (i) => {
      const name = getExtensionName(i);
      await client.create(createExtension(name, { packageName: `${name}-operator` }));
      await setInstalledVersion(client, name, "1.0.0", i % TROUBLED === 0);
    },
  );
}

/** Changes the installed version in the status of an extension. */
export async function setInstalledVersion(client: Client, name: string, version: string, isFailing = false): Promise<void> {
  const common = { observedGeneration: 1, lastTransitionTime: new Date().toISOString() };
  const conditions = [
    { ...common, type: "Installed", status: "True", reason: "Succeeded", message: `Installed bundle ${name}.v${version} successfully` },
    isFailing
      ? {
          ...common,
          type: "Progressing",
          status: "True",
          reason: "Retrying",
          message: `Bundle ${name}.v9.9.9 cannot be pulled: 401 Unauthorized`,
        }
      : { ...common, type: "Progressing", status: "True", reason: "Succeeded", message: "Desired state reached" },
  ];
  const install = { bundle: { name: `${name}.v${version}`, version } };
  const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
  await client.patch(ref, { status: { install, conditions } }, { type: "merge", subresource: "status" });
}
